import { describe, expect, test } from "vitest";
import { vaultFileKind } from "../../../src/operator/api/kinds.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import { certificate } from "../../lab/certificates.ts";
import * as removals from "../../lab/kube/removed-sources.ts";
import { ACCOUNT } from "../../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

/** Values of versions, by name and version; others are `<name>@<version>`. */
type Values = Readonly<Record<string, string>>;

const VALUES: Values = { "db@2": "short", "db@3": "long enough", "user@2": "second user" };
const unruled = { secretKey: "password", remoteRef: { key: "db" } };
const password = (validate: object = { minLength: 10 }, more: object = {}) => ({
  secretKey: "password",
  remoteRef: { key: "db", ...more },
  validate,
});
const user = { secretKey: "user", remoteRef: { key: "user" } };

/** Starts an operator that has synced version 1 of `db` and `user`. */
async function synced(data: readonly object[], spec: object = {}): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  serves(scene, { ...VALUES, "db@1": "first one!" });
  lists(scene, 1);
  scene.follow({}, { data, ...spec });
  await scene.settle();
  expect(scene.condition("Ready")?.reason).toBe("Synced");
  return scene;
}

function serves(scene: SimulatedWorld, values: Values): void {
  scene.vault().expose = (name, version) => {
    const value = values[`${name}@${version}`];
    return value === undefined ? {} : { value };
  };
}

const lists = (scene: SimulatedWorld, db: number, userVersion = 1): void =>
  scene.vault().lists({ name: "db", version: db }, { name: "user", version: userVersion });

async function listed(scene: SimulatedWorld, db: number, userVersion = 1): Promise<string> {
  lists(scene, db, userVersion);
  await scene.settle();
  return scene.outcome();
}

const MESSAGE =
  "version 2 of db does not fit the rule minLength of the key password: expected at least 10 characters; the target is left unchanged";

describe("a version that does not fit a rule", () => {
  test("is not served, is reported without its value, and the next one that fits is", async () => {
    await using scene = await synced([password(), user]);
    expect(await listed(scene, 2)).toBe("password=first one! user=vault user@1, InvalidContent");
    expect(scene.condition("Ready")?.message).toBe(MESSAGE);
    expect(scene.condition("Stalled")?.reason).toBe("InvalidContent");
    expect(scene.status().items?.[0]).toMatchObject({ version: 1, latest: 2 });
    expect(JSON.stringify([scene.resource()["status"], scene.events])).not.toContain("short");
    expect(await listed(scene, 3)).toBe("password=long enough user=vault user@1, Synced");
  });

  test("holds back no other key", async () => {
    await using scene = await synced([password(), user]);
    expect(await listed(scene, 2, 2)).toBe("password=first one! user=second user, InvalidContent");
  });

  test("is not served after a restart", async () => {
    await using scene = await synced([password()]);
    await listed(scene, 2);
    await scene.replace();
    await scene.settle(3_600_000);
    expect(scene.outcome()).toBe("password=first one!, InvalidContent");
  });

  test("creates no target, also in place of a deleted one", async () => {
    await using scene = await synced([password()]);
    await listed(scene, 2);
    scene.deleteTarget();
    await scene.settle();
    expect(scene.outcome()).toBe("absent, InvalidContent");
    expect(await listed(scene, 3)).toBe("password=long enough, Synced");
  });

  test("is not served in the repair of an edited target", async () => {
    await using scene = await synced([password()]);
    await listed(scene, 2);
    scene.edit({ password: "edited" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=edited, InvalidContent");
    expect(await listed(scene, 3)).toBe("password=long enough, Synced");
  });

  test("is not served when it is pinned, and a pin of one that fits is", async () => {
    await using scene = await synced([password()]);
    lists(scene, 3);
    scene.follow({}, { data: [password({ minLength: 10 }, { version: 2 })] });
    await scene.settle();
    expect(scene.outcome()).toBe("password=first one!, InvalidContent");
    scene.follow({}, { data: [password({ minLength: 10 }, { version: 3 })] });
    await scene.settle();
    expect(scene.outcome()).toBe("password=long enough, Synced");
  });

  test("is served when the rule is removed from the spec", async () => {
    await using scene = await synced([password()]);
    await listed(scene, 2);
    scene.follow({}, { data: [unruled] });
    await scene.settle();
    expect(scene.outcome()).toBe("password=short, Synced");
  });

  test("is not accepted by the annotation accept", async () => {
    await using scene = await synced([password()]);
    await listed(scene, 2);
    scene.annotate({ "vaultsync.dev/accept": "db@2" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=first one!, InvalidContent");
  });

  test("leaves a target under its former name until one fits", async () => {
    await using scene = await synced([password()]);
    await listed(scene, 2);
    scene.follow({}, { data: [password()], target: { name: "moved" } });
    await scene.settle();
    expect(scene.target("moved")).toBeUndefined();
    expect(scene.target("db")).toBeDefined();
    await listed(scene, 3);
    expect(scene.target("moved")).toBeDefined();
    expect(scene.target("db")).toBeUndefined();
  });

  test("does not keep the key of another source that the vault removed", async () => {
    await using scene = await synced([password(), { ...user, optional: true }]);
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle(300_000);
    expect(scene.outcome()).toBe("password=first one!, InvalidContent");
  });

  test("does not write an object into which the resource merges", async () => {
    await using scene = await SimulatedWorld.shop();
    serves(scene, { ...VALUES, "db@1": "first one!" });
    lists(scene, 1);
    scene.server.create(SECRETS, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { namespace: "shop", name: "db" },
      data: { others: "eA==" },
    });
    scene.follow({}, { data: [password()], target: { creationPolicy: "Merge" } });
    await scene.settle();
    expect(scene.outcome()).toBe("others=x password=first one!, Synced");
    expect(await listed(scene, 2)).toBe("others=x password=first one!, InvalidContent");
  });
});

describe("a rule that is added to a spec", () => {
  test("that the served version fits changes no byte", async () => {
    await using scene = await synced([unruled]);
    const before = scene.target()?.data;
    scene.follow({}, { data: [password()] });
    await scene.settle();
    expect(scene.outcome()).toBe("password=first one!, Synced");
    expect(scene.target()?.data).toEqual(before);
    expect(await listed(scene, 2)).toBe("password=first one!, InvalidContent");
  });

  test("that the served version does not fit keeps it, and other keys follow", async () => {
    await using scene = await synced([unruled, user]);
    await listed(scene, 2);
    scene.follow({}, { data: [password(), user] });
    await scene.settle();
    expect(scene.outcome()).toBe("password=short user=vault user@1, InvalidContent");
    expect(await listed(scene, 2, 2)).toBe("password=short user=second user, InvalidContent");
    expect(await listed(scene, 3, 2)).toBe("password=long enough user=second user, Synced");
  });

  test("stops nothing that it does not name", async () => {
    await using scene = await synced([unruled, user]);
    scene.follow({}, { data: [password({ minLength: 100 }), user] });
    await scene.settle();
    await scene.settle(600_000);
    scene.takeRequests();
    await scene.settle(600_000);
    expect(scene.takeRequests().filter((one) => !one.startsWith("GET"))).toEqual([]);
  });
});

describe("a variable that does not fit a rule", () => {
  const target = { template: { data: { url: "{{ user }}:{{ password }}" } } };

  test("leaves the whole target unchanged", async () => {
    await using scene = await synced([password(), user], { target });
    expect(await listed(scene, 2, 2)).toBe("url=vault user@1:first one!, InvalidContent");
    expect(scene.condition("Ready")?.message).toBe(MESSAGE);
    expect(await listed(scene, 3, 2)).toBe("url=second user:long enough, Synced");
  });

  test("next to an extracted object leaves the whole target unchanged", async () => {
    await using scene = await SimulatedWorld.shop();
    serves(scene, {
      ...VALUES,
      "db@1": "first one!",
      "user@1": '{"a":"1"}',
      "user@2": '{"a":"2"}',
    });
    lists(scene, 1);
    scene.follow({}, { data: [password()], dataFrom: [{ extract: { key: "user" } }] });
    await scene.settle();
    expect(await listed(scene, 2, 2)).toBe("a=1 password=first one!, InvalidContent");
    expect(await listed(scene, 3, 2)).toBe("a=2 password=long enough, Synced");
  });
});

test("the key of a removed object leaves a target that does not fit its new rules", async () => {
  const values = { db: "first one!", user: '{"a":"1"}' };
  const dataFrom = [{ extract: { key: "user" } }];
  await using scene = await removals.synced(values, { data: [password()], dataFrom });
  scene.follow({}, { data: [password({ minLength: 20 })], dataFrom });
  await scene.settle();
  expect(scene.outcome()).toBe("a=1 password=first one!, InvalidContent");
  await removals.remove(scene, values, "user");
  expect(scene.outcome()).toBe("password=first one!, InvalidContent");
});

describe("a key of a template that does not fit a rule", () => {
  const target = {
    template: { data: { url: "db://{{ user }}:{{ password }}" } },
    validate: { url: { format: "URL" } },
  };

  test("leaves the target unchanged, and is reported with its sources", async () => {
    await using scene = await synced([unruled, user], {
      target: { ...target, validate: { url: { minLength: 12 } } },
    });
    serves(scene, { "db@2": "x", "user@2": "y", "db@3": "long enough" });
    const before = scene.outcome().replace("Synced", "");
    expect(await listed(scene, 2, 2)).toBe(`${before}InvalidContent`);
    expect(scene.condition("Ready")?.message).toBe(
      "the template makes a key url of version 2 of db, version 2 of user that does not fit its rule minLength: expected at least 12 characters; the target is left unchanged",
    );
    expect(await listed(scene, 3, 2)).toBe("url=db://y:long enough, Synced");
  });

  test("creates no target", async () => {
    await using scene = await SimulatedWorld.shop();
    lists(scene, 1);
    scene.follow({}, { data: [unruled, user], target });
    await scene.settle();
    expect(scene.outcome()).toBe("absent, InvalidContent");
    serves(scene, { "db@2": "p", "user@1": "u" });
    expect(await listed(scene, 2)).toBe("url=db://u:p, Synced");
  });

  test("is written when the rule is removed", async () => {
    await using scene = await SimulatedWorld.shop();
    lists(scene, 1);
    scene.follow({}, { data: [unruled, user], target });
    await scene.settle();
    scene.follow({}, { data: [unruled, user], target: { template: target.template } });
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("Synced");
  });
});

test("a rule is checked after property and decoding", async () => {
  await using scene = await SimulatedWorld.shop();
  serves(scene, { "db@1": '{"port": "NTQzMg=="}', "db@2": '{"port": "eA=="}' });
  lists(scene, 1);
  const more = { property: "/port", decoding: "Base64" };
  scene.follow({}, { data: [password({ format: "Integer" }, more)] });
  await scene.settle();
  expect(scene.outcome()).toBe("password=5432, Synced");
  expect(await listed(scene, 2)).toBe("password=5432, InvalidContent");
});

test("an edited certificate is repaired, although it expires sooner than a new one may", async () => {
  await using scene = await SimulatedWorld.shop();
  const now = scene.clock.now();
  const { cert } = certificate("shop", {
    notBefore: new Date(now - 1_000),
    notAfter: new Date(now + 2 * 3_600_000),
  });
  serves(scene, { "db@1": cert });
  lists(scene, 1);
  scene.follow({}, { data: [password({ certificate: { validFor: "1h" } })] });
  await scene.settle();
  expect(scene.condition("Ready")?.reason).toBe("Synced");
  await scene.settle(90 * 60_000);
  expect(scene.condition("Ready")?.reason).toBe("Synced");
  scene.edit({ password: "edited" });
  await scene.settle();
  expect(scene.outcome()).toBe(`password=${cert}, Synced`);
});

test("an invalid pattern is InvalidSpec with its field", async () => {
  await using scene = await SimulatedWorld.shop();
  lists(scene, 1);
  scene.follow({}, { data: [password({ pattern: "(" })] });
  await scene.settle();
  expect(scene.outcome()).toBe("absent, InvalidSpec");
  expect(scene.condition("Ready")?.message).toContain("spec.data[0].validate.pattern: missing");
});

test("a file that does not fit a rule is not served", async () => {
  await using scene = await SimulatedWorld.shop();
  const vault = scene.vault();
  const ref = { namespace: "shop", name: "app" };
  vault.upload(ACCOUNT, "app.json", Buffer.from("{}"));
  const files = [{ filename: "app.json", validate: { format: "JSON" } }];
  scene.put(vaultFileKind, ref, {
    connectionRef: { name: "vault" },
    files,
    target: { kind: "Secret" },
  });
  await scene.settle();
  expect(scene.outcome("app", "shop", vaultFileKind)).toBe("app.json={}, Synced");
  vault.upload(ACCOUNT, "app.json", Buffer.from("{"));
  await scene.settle();
  expect(scene.outcome("app", "shop", vaultFileKind)).toBe("app.json={}, InvalidContent");
  vault.upload(ACCOUNT, "app.json", Buffer.from("[]"));
  await scene.settle();
  expect(scene.outcome("app", "shop", vaultFileKind)).toBe("app.json=[], Synced");
});

test("next to a key with the previous version and the same rules, two versions have to fit", async () => {
  const previous = password({ minLength: 10 }, { version: "previous" });
  const old = { ...previous, secretKey: "old", optional: true };
  await using scene = await synced([password(), old]);
  expect(await listed(scene, 2)).toBe("password=first one!, InvalidContent");
  expect(await listed(scene, 3)).toBe("password=first one!, InvalidContent");
  serves(scene, { ...VALUES, "db@4": "fits again" });
  expect(await listed(scene, 4)).toBe("old=long enough password=fits again, Synced");
});
