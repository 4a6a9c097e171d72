import { describe, expect, test } from "vitest";
import { certificate } from "../../lab/certificates.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import {
  data,
  readyMessage,
  remove,
  serveNothing,
  synced,
  type Values,
} from "../../lab/kube/removed-sources.ts";
import { ACCOUNT } from "../../lab/simulated/simulated-vault.ts";
import { vaultFileKind } from "../../../src/operator/api/kinds.ts";
import { CONFIG_MAPS, SECRETS } from "../../../src/operator/kube/resource.ts";
import { PermanentError } from "../../../src/operator/vault-client/vault-error.ts";
import {
  forbidden,
  invalid,
  type StatusError,
} from "../../lab/simulated/api-server/status-error.ts";
import { SHOP, valuesOf } from "../../lab/simulated/simulated-operator.ts";

/**
 * Removed values leave the target, whatever the target is made of: keys of single sources,
 * extracted objects, types.
 */
const MINUTE = 60_000;
// Found by the simulation (seed 1, episode 2303): the status named the former key until a resync.
test("a target that is removed with a renamed key leaves no former key in the status", async () => {
  await using scene = await SimulatedWorld.following([{ name: "db" }], { password: "db" });
  scene.vault().lists({ name: "db", deleteAt: scene.clock.now() + MINUTE });
  await scene.settle(55_000);
  const login = { secretKey: "login", remoteRef: { key: "db" }, optional: true };
  scene.follow({}, { data: [login] });
  scene.vault().lists();
  await scene.settle(30_000);
  expect(scene.outcome()).toBe("absent, Synced");
  expect(scene.status().items).toMatchObject([{ secretKey: "login", key: "db" }]);
});

describe("an extracted object next to another one", () => {
  const values = { a: '{"a": "1"}', b: '{"password": "p"}', conf: "x" };
  const spec = {
    data: data("conf"),
    dataFrom: [{ extract: { key: "a" } }, { extract: { key: "b" } }],
  };

  test("waits for five minutes until the vault serves the other one, and then leaves with it", async () => {
    await using scene = await synced(values, spec);
    await scene.replace();
    serveNothing(scene);
    await remove(scene, values, "b");
    await scene.settle(2 * MINUTE);
    expect(scene.outcome()).toBe("a=1 conf=x password=p, SourceRemoved");
    await scene.settle(10 * MINUTE);
    expect(scene.outcome()).toBe("conf=x, SourceRemoved");
    scene.vault().serves({ a: values.a, conf: "x" });
    await scene.settle(10 * MINUTE);
    expect(scene.outcome()).toBe("a=1 conf=x, SourceRemoved");
  });
});

describe("an extracted object", () => {
  const values = { a: '{"a": "1"}', b: '{"password": "p"}', conf: "x" };
  const spec = {
    data: data("conf"),
    dataFrom: [{ extract: { key: "a" } }, { extract: { key: "b" } }],
  };

  test("that is removed leaves although another source is missing, whose keys stay", async () => {
    await using scene = await synced(values, spec);
    const { a, b } = values;
    scene.vault().serves({ a, b });
    await scene.settle();
    await remove(scene, { a, b }, "a", "b");
    expect(scene.outcome()).toBe("conf=x, SourceMissing");
    expect(readyMessage(scene)).toContain("a was removed by the vault");
    scene.vault().serves({ conf: "y" }, 2);
    await scene.settle();
    expect(scene.outcome()).toBe("conf=y, SourceRemoved");
  });

  test("that is removed takes with it the keys of a missing one, which nothing distinguishes", async () => {
    await using scene = await synced(values, spec);
    const { b, conf } = values;
    scene.vault().serves({ b, conf });
    await scene.settle();
    await remove(scene, { b, conf }, "b");
    expect(scene.outcome()).toBe("conf=x, SourceMissing");
  });

  test("stays if the key of another source is removed while it is missing", async () => {
    await using scene = await synced(values, spec);
    await remove(scene, { conf: "x", b: values.b }, "conf");
    expect(scene.outcome()).toBe("a=1 password=p, SourceMissing");
  });

  // Found by the simulation: the removal counted as one of the found key alone.
  test("that is removed leaves although a rule finds it too, and another source is not served", async () => {
    const { b, conf } = values;
    const dataFrom = [{ extract: { key: "b" } }, { find: { name: { regexp: "^b$" } } }];
    await using scene = await synced({ b, conf }, { data: data("conf"), dataFrom });
    expect(scene.outcome()).toBe(`b=${b} conf=x password=p, Synced`);
    await scene.replace();
    serveNothing(scene);
    await remove(scene, { b, conf }, "b");
    await scene.settle(10 * MINUTE);
    expect(scene.outcome()).toBe("conf=x, SourceMissing");
  });

  test("that is removed leaves an object of others", async () => {
    await using scene = await SimulatedWorld.shop();
    const metadata = { namespace: "shop", name: "app" };
    scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata, data: { own: "" } });
    scene.vault().serves(values);
    scene.follow({}, { ...spec, target: { name: "app", creationPolicy: "Merge" } });
    await scene.settle();
    await remove(scene, { b: values.b, conf: "x" }, "b");
    expect(Object.keys(scene.target("app")?.data ?? {}).sort()).toEqual(["conf", "own"]);
  });
});

describe("an extracted object in an outage of the values", () => {
  test("does not keep the keys of a removed object, and keeps all others", async () => {
    const values = { config: '{"host": "h", "password": "p"}', user: "bob" };
    await using scene = await synced(values, {
      data: data("user"),
      dataFrom: [{ extract: { key: "config" } }],
    });
    await scene.replace();
    serveNothing(scene);
    await remove(scene, values, "config");
    expect(scene.outcome()).toBe("user=bob, SourceRemoved");
  });
});

// Found by the simulation.
test("an edited target that cannot be repaired is kept although an optional source never existed", async () => {
  const spec = {
    data: [{ ...data("extra")[0], optional: true }],
    dataFrom: [{ extract: { key: "config" } }],
  };
  await using scene = await synced({ config: '{"host": "h"}' }, spec);
  scene.vault().serves({ config: "no object" }, 2);
  scene.edit({ host: "edited" });
  await scene.settle(20 * MINUTE);
  expect(scene.outcome()).toBe("host=edited, InvalidProperty");
});

// Found by the simulation.
test("an optional source that is missing takes no retained key of a changed spec with it", async () => {
  const optional = { ...data("a")[0], optional: true };
  const dataFrom = [{ extract: { key: "b" } }];
  await using scene = await synced({ a: "1", b: '{"host": "h"}' }, { data: [optional], dataFrom });
  scene.vault().serves({});
  scene.follow({}, { data: [optional, ...data("c")], dataFrom });
  await scene.settle(20 * MINUTE);
  expect(scene.outcome()).toBe("a=1 host=h, SourceMissing");
});

describe("a plain target", () => {
  test("loses a removed key although a new one cannot be read", async () => {
    await using scene = await synced({ a: "1", b: "2" }, { data: data("a", "b") });
    scene.vault().expose = () => {
      throw new PermanentError("expose", "secret_expired");
    };
    scene.vault().lists({ name: "a" }, { name: "b" }, { name: "c" });
    scene.follow({}, { data: data("a", "b", "c") });
    await scene.settle();
    expect(scene.outcome()).toBe("a=1 b=2, Expired");
    await remove(scene, { a: "1", b: "2", c: "3" }, "a");
    expect(scene.outcome()).toBe("b=2, Expired");
  });

  test("is deleted with its last key although the spec names a source that never existed", async () => {
    await using scene = await synced({ a: "1" }, { data: data("a") });
    scene.follow({}, { data: data("a", "never") });
    await scene.settle();
    await remove(scene, { a: "1" }, "a");
    expect(scene.outcome()).toBe("absent, SourceMissing");
    expect(readyMessage(scene)).toContain("a was removed by the vault");
  });
});

const pair = (): Values => {
  const { cert, keyPem } = certificate("one");
  return { "tls.crt": cert, "tls.key": keyPem };
};

describe("a typed Secret", () => {
  test("that loses a required key is deleted, says why, and is created again with it", async () => {
    const values = pair();
    await using scene = await synced(values, {
      data: data("tls.crt", "tls.key"),
      target: { type: "kubernetes.io/tls" },
    });
    await remove(scene, values, "tls.key");
    expect(scene.outcome()).toBe("absent, SourceRemoved");
    const message = readyMessage(scene);
    expect(message).toMatch(
      /; no target can be made of the rest: a Secret of type kubernetes\.io\/tls requires the keys tls\.key$/u,
    );
    await scene.settle(40 * MINUTE);
    expect(readyMessage(scene)).toBe(message);
    scene.vault().serves(values, 2);
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("Synced");
  });

  test("of an extracted object that is removed is deleted", async () => {
    const { ["tls.crt"]: crt = "", ["tls.key"]: key = "" } = pair();
    const values = { crt, key: JSON.stringify({ "tls.key": key }) };
    const from = {
      data: [{ secretKey: "tls.crt", remoteRef: { key: "crt" } }],
      dataFrom: [{ extract: { key: "key" } }],
    };
    await using scene = await synced(values, { ...from, target: { type: "kubernetes.io/tls" } });
    await remove(scene, values, "key");
    expect(scene.outcome()).toBe("absent, SourceRemoved");
  });

  test("waits for five minutes until the vault serves the other half", async () => {
    const { ["tls.crt"]: crt = "", ["tls.key"]: key = "" } = pair();
    const values = { crt: JSON.stringify({ "tls.crt": crt }), key };
    const from = {
      data: [{ secretKey: "tls.key", remoteRef: { key: "key" } }],
      dataFrom: [{ extract: { key: "crt" } }],
    };
    await using scene = await synced(values, { ...from, target: { type: "kubernetes.io/tls" } });
    await scene.replace();
    serveNothing(scene);
    await remove(scene, values, "key");
    await scene.settle(2 * MINUTE);
    expect(Object.keys(scene.target()?.data ?? {}).sort()).toEqual(["tls.crt", "tls.key"]);
    await scene.settle(10 * MINUTE);
    expect(scene.target()).toBeUndefined();
  });

  test("keeps its pair and loses a third key while one half is newer", async () => {
    const values = { ...pair(), ca: "authority" };
    await using scene = await synced(values, {
      data: data("tls.crt", "tls.key", "ca"),
      target: { type: "kubernetes.io/tls" },
    });
    const other = certificate("two");
    scene.vault().expose = (name) => ({ value: name === "tls.crt" ? other.cert : "" });
    scene
      .vault()
      .lists(
        { name: "tls.crt", version: 2 },
        { name: "tls.key" },
        { name: "ca", deleteAt: scene.clock.now() + 10_000 },
      );
    await scene.settle(20_000);
    expect(scene.condition("Ready")?.reason).toBe("InvalidContent");
    scene.vault().lists({ name: "tls.crt", version: 2 }, { name: "tls.key" });
    await scene.settle();
    expect(Object.keys(scene.target()?.data ?? {}).sort()).toEqual(["tls.crt", "tls.key"]);
    expect(scene.condition("Ready")?.reason).toBe("InvalidContent");
  });
});

test("a key that is removed leaves a target although another file has become too large for it", async () => {
  await using scene = await SimulatedWorld.shop();
  const ref = { namespace: "shop", name: "web" };
  const files = [{ filename: "a" }, { filename: "b" }];
  scene.vault().upload(ACCOUNT, "a", Buffer.from("a"));
  scene.vault().upload(ACCOUNT, "b", Buffer.from("b"));
  const target = { kind: "ConfigMap", whenMissing: "Delete" };
  scene.put(vaultFileKind, ref, { connectionRef: { name: "vault" }, target, files });
  await scene.settle();
  expect(scene.server.get(CONFIG_MAPS, ref)).toMatchObject({ data: { a: "a", b: "b" } });
  scene.vault().upload(ACCOUNT, "a", Buffer.alloc(1024 * 1024 + 1, "x"));
  scene.vault().act(ACCOUNT, "delete_file", { filename: "b" });
  await scene.settle(10 * MINUTE);
  expect(scene.conditionOf(vaultFileKind, ref)?.reason).toBe("TooLarge");
  expect(scene.server.get(CONFIG_MAPS, ref)["data"]).toEqual({ a: "a" });
});

const VALUES = { username: "ann", password: "secret" };
const keys = data("username", "password");
const DENIAL = `secrets "db" is forbidden: ValidatingAdmissionPolicy 'no-bob' with binding 'b' denied request: no`;

/** Rejects each write of a Secret that has this text in a value. */
function reject(scene: SimulatedWorld, text: string, rejection: () => StatusError): void {
  scene.server.webhooks.push((object) => {
    const values = object.kind === "Secret" ? Object.values(valuesOf(object) ?? {}) : [];
    if (values.some((value) => value.includes(text))) throw rejection();
    return object;
  });
}

/** The username gets a second version, and the password reaches its `delete_time`. */
async function removePassword(scene: SimulatedWorld): Promise<void> {
  const username = { name: "username", version: 2 };
  scene.vault().expose = (name) => ({ value: name === "username" ? "bob" : "secret" });
  scene.vault().lists(username, { name: "password", deleteAt: scene.clock.now() + 10_000 });
  await scene.settle();
  expect(scene.condition("Ready")?.reason).toMatch(/^Target(Forbidden|Rejected)$/);
  await scene.settle(20_000);
  scene.vault().lists(username);
  await scene.settle();
}

const REJECTIONS: readonly (readonly [string, () => StatusError, string])[] = [
  ["a policy", () => forbidden(DENIAL), "TargetForbidden"],
  ["a webhook", () => invalid(), "TargetRejected"],
];

// Found by a review: the removal was part of the write that was rejected, every time.
describe.each(REJECTIONS)(
  "while %s rejects the content of another source:",
  (_, rejection, reason) => {
    test("a key at its deadline leaves the target", async () => {
      await using scene = await synced(VALUES, { data: keys });
      reject(scene, "bob", rejection);
      const uid = scene.target()?.metadata.uid;
      await removePassword(scene);
      expect(scene.outcome()).toBe(`username=ann, ${reason}`);
      expect(scene.target()?.metadata.uid).toBe(uid);
      await scene.replace();
      expect(scene.outcome()).toBe(`username=ann, ${reason}`);
      scene.server.webhooks.pop();
      await scene.settle(60_000);
      expect(scene.outcome()).toBe("username=bob, SourceRemoved");
    });

    test("a variable at its deadline leaves with the rendered target after five minutes", async () => {
      const template = { data: { url: "{{ username }}:{{ password | default: 'none' }}" } };
      await using scene = await synced(VALUES, { data: keys, target: { template } });
      reject(scene, "bob", rejection);
      await removePassword(scene);
      expect(scene.outcome()).toBe(`url=ann:secret, ${reason}`);
      await scene.settle(6 * 60_000);
      expect(scene.outcome()).toBe(`absent, ${reason}`);
      scene.server.webhooks.pop();
      await scene.settle(60_000);
      expect(scene.outcome()).toBe("url=bob:none, SourceRemoved");
    });

    test("an immutable target stays as a whole", async () => {
      await using scene = await synced(VALUES, { data: keys, target: { immutable: true } });
      reject(scene, "bob", rejection);
      scene
        .vault()
        .lists({ name: "username" }, { name: "password", deleteAt: scene.clock.now() + 10_000 });
      await scene.settle(20_000);
      scene.vault().lists({ name: "username" });
      await scene.settle();
      expect(scene.outcome()).toBe("password=secret username=ann, TargetImmutable");
    });

    test("a merged key at its deadline leaves the object", async () => {
      await using scene = await SimulatedWorld.shop();
      scene.server.create(SECRETS, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { namespace: SHOP, name: "db" },
        data: { own: "MQ==" },
      });
      scene.vault().serves(VALUES);
      scene.follow({}, { data: keys, target: { creationPolicy: "Merge" } });
      await scene.settle();
      reject(scene, "bob", rejection);
      await removePassword(scene);
      expect(scene.outcome()).toBe(`own=1 username=ann, ${reason}`);
    });
  },
);

test("a key at its deadline stays if a policy denies every write of the target", async () => {
  await using scene = await synced(VALUES, { data: keys });
  reject(scene, "", () => forbidden(DENIAL));
  await removePassword(scene);
  expect(scene.outcome()).toBe("password=secret username=ann, TargetForbidden");
  expect(scene.status().items).toHaveLength(2);
});
