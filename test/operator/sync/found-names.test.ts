import { describe, expect, test } from "vitest";
import { valuesOf } from "../../lab/simulated/simulated-operator.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { SECRETS } from "../../../src/operator/kube/resource.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";

/** Names that rules find and that make no key of their own, and whose they are. */
type Listed = Partial<SecretRecord>;
const DBA = "dba@example.com";
const FIND = [{ find: { name: { regexp: "^shop-" } } }];
const SUFFIX = [
  { find: { name: { regexp: "^[a-z]+-" } }, rewrite: [{ regexp: { source: "^.*-", target: "" } }] },
];
const named = (...names: readonly string[]): Listed[] => names.map((name) => ({ name }));
const from = (owner: string, ...names: readonly string[]): Listed[] =>
  names.map((name) => ({ name, owner, shared: true }));

/**
 * Starts an operator whose resource finds secrets of a vault that lists these, and that trusts
 * `DBA`.
 */
async function finding(
  listed: readonly Listed[],
  dataFrom: readonly object[],
  spec: object = {},
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  scene.connect("vault", { trustedOwners: [DBA] });
  scene.vault().lists(...listed);
  scene.follow({}, { data: undefined, dataFrom, ...spec });
  await scene.settle();
  return scene;
}

async function list(scene: SimulatedWorld, ...listed: readonly Listed[]): Promise<string> {
  scene.vault().lists(...listed);
  await scene.settle();
  return scene.outcome();
}

const message = (scene: SimulatedWorld): string => scene.condition("Ready")?.message ?? "";

describe("a name without a key of its own", () => {
  test.each([
    [
      "a name that is no valid key",
      "shop-b c",
      {},
      'dataFrom[0] finds "shop-b c", which is not a valid key',
    ],
    [
      "a rewritten name that is no valid key",
      "shop-/",
      { rewrite: [{ regexp: { source: "^shop-/$", target: "/" } }] },
      'dataFrom[0] finds "shop-/", whose key "/" is not a valid key',
    ],
  ])("is skipped and named, and all others are synced: %s", async (_, name, rule, why) => {
    await using scene = await finding(named("shop-a", name), [{ ...FIND[0], ...rule }]);
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1, InvalidKey");
    expect(message(scene)).toContain(why);
    expect(message(scene)).toMatch(/; it is skipped$/u);
    expect(await list(scene, { name: "shop-a", version: 2 }, { name })).toBe(
      "shop-a=vault shop-a@2, InvalidKey",
    );
    expect(await list(scene, ...named("shop-a", "shop-c", name))).toBe(
      "shop-a=vault shop-a@2 shop-c=vault shop-c@1, VersionRegressed",
    );
  });

  test("prevents no repair of an edited target", async () => {
    await using scene = await finding(named("shop-a", "shop-b c"), FIND);
    scene.edit({ "shop-a": "edited" });
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1, InvalidKey");
  });

  test("creates no target alone", async () => {
    await using scene = await finding(named("shop-b c"), FIND);
    expect(scene.outcome()).toBe("absent, InvalidKey");
  });

  test("leaves the key to the item that the spec names", async () => {
    const data = [{ secretKey: "shop-b", remoteRef: { key: "db" } }];
    await using scene = await finding(named("shop-a", "db"), FIND, { data });
    expect(await list(scene, ...named("shop-a", "shop-b", "db"))).toBe(
      "shop-a=vault shop-a@1 shop-b=vault db@1, InvalidKey",
    );
    expect(message(scene)).toContain(
      'dataFrom[0] finds "shop-b", but the key shop-b is that of "db": set rewrite',
    );
  });
});

describe("several names of one key", () => {
  test("do not change what the target has, whose name is in the message", async () => {
    await using scene = await finding(named("shop-one", "shop-two"), SUFFIX);
    const rotated = { name: "shop-one", version: 2 };
    const others = named("a-one", "x-one");
    expect(await list(scene, rotated, ...others, ...named("shop-two"))).toBe(
      "one=vault shop-one@2 two=vault shop-two@1, InvalidKey",
    );
    expect(message(scene)).toContain(
      'dataFrom[0] finds "a-one", but the key one is that of "shop-one"',
    );
    await scene.replace();
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault shop-one@2 two=vault shop-two@1, InvalidKey");
  });

  test("make no key if none had it, and prevent no other", async () => {
    await using scene = await finding(named("a-one", "b-one", "shop-two"), SUFFIX);
    expect(scene.outcome()).toBe("two=vault shop-two@1, InvalidKey");
    expect(message(scene)).toContain(
      'dataFrom[0] finds "a-one", but the key one is that of several names',
    );
    expect(await list(scene, ...named("b-one", "shop-two"))).toBe(
      "one=vault b-one@1 two=vault shop-two@1, Synced",
    );
  });

  test("stay with the name that has the key although the annotations are lost", async () => {
    await using scene = await finding(named("shop-one"), SUFFIX);
    await list(scene, ...named("a-one", "shop-one"));
    const annotations = { "vaultsync.dev/sources": null, "vaultsync.dev/versions": null };
    scene.server.patch(SECRETS, { namespace: "shop", name: "db" }, { metadata: { annotations } });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault shop-one@1, InvalidKey");
  });

  test("are won by an own one over a received one, whichever was first", async () => {
    await using scene = await finding([...named("z-one"), ...from(DBA, "a-one")], SUFFIX);
    expect(scene.outcome()).toBe("one=vault z-one@1, InvalidKey");
    scene.follow({}, { data: undefined, dataFrom: SUFFIX, name: "other" });
    expect(await list(scene, ...from(DBA, "a-one"), ...named("y-two"))).toContain(
      "one=vault z-one@1",
    );
    expect(scene.outcome("other")).toContain("two=vault y-two@1");
  });

  test("of received secrets never replace one that is gone", async () => {
    await using scene = await finding(named("shop-one", "shop-two"), SUFFIX);
    expect(await list(scene, ...from(DBA, "a-one"), ...named("shop-two"))).toBe(
      "one=vault shop-one@1 two=vault shop-two@1, SourceMissing",
    );
    expect(message(scene)).toContain("a-one does not get its key one");
  });
});

// Found by the simulation: the target kept its content, and the message named a secret that the
// former spec named.
// The rule was taken for another one: the next target was created without the key, and the former
// one was deleted with its bytes.
test("a found secret is missing in the next target whose keys its rule makes in another way", async () => {
  await using scene = await finding(named("shop-one", "shop-two"), FIND);
  await list(scene, ...named("shop-one"));
  scene.follow({}, { data: undefined, dataFrom: SUFFIX, target: { name: "next" } });
  await scene.settle();
  expect(valuesOf(scene.target())).toMatchObject({ "shop-two": "vault shop-two@1" });
  expect(scene.target("next")).toBeUndefined();
  expect(scene.condition("Ready")).toMatchObject({ status: "False", reason: "SourceMissing" });
  await list(scene, ...named("shop-one", "shop-two"));
  expect(valuesOf(scene.target("next"))).toMatchObject({ two: "vault shop-two@1" });
  expect(scene.target()).toBeUndefined();
});

// The key of the missing secret was another one in the edited rule: its bytes left the target, and
// the resource was Ready.
test("a found secret that is missing keeps its key when the rule makes other keys", async () => {
  await using scene = await finding(named("shop-one", "shop-two"), FIND);
  await list(scene, ...named("shop-one"));
  scene.follow({}, { data: undefined, dataFrom: SUFFIX });
  await scene.settle();
  expect(scene.outcome()).toBe("one=vault shop-one@1 shop-two=vault shop-two@1, SourceMissing");
  expect(await list(scene, { name: "shop-one", version: 2 })).toBe(
    "one=vault shop-one@2 shop-two=vault shop-two@1, SourceMissing",
  );
  expect(await list(scene, ...named("shop-one", "shop-two"))).toContain("two=vault shop-two@1");
  expect(Object.keys(scene.target()?.data ?? {})).toEqual(["one", "two"]);
});

// Another secret took the key in the next target, and the former one was deleted with the bytes.
test("a found secret is missing in the next target where another one has its key", async () => {
  await using scene = await finding(named("shop-one", "shop-two"), FIND);
  await list(scene, ...named("shop-one"));
  const rewrite = [{ regexp: { source: "^.*$", target: "all" } }];
  scene.follow(
    {},
    { data: undefined, dataFrom: [{ ...FIND[0], rewrite }], target: { name: "next" } },
  );
  await scene.settle();
  expect(valuesOf(scene.target())).toMatchObject({ "shop-two": "vault shop-two@1" });
  expect(scene.target("next")).toBeUndefined();
  expect(scene.condition("Ready")).toMatchObject({ status: "False", reason: "SourceMissing" });
});

test("a secret that the former spec named is no found one, although the annotations are lost", async () => {
  await using scene = await SimulatedWorld.following(named("shop-a", "shop-b"), { one: "shop-a" });
  await scene.stop();
  scene.vault().lists(...named("shop-b"));
  const annotations = { "vaultsync.dev/sources": null, "vaultsync.dev/versions": null };
  scene.server.patch(SECRETS, { namespace: "shop", name: "db" }, { metadata: { annotations } });
  scene.follow({}, { data: undefined, dataFrom: FIND });
  await scene.replace();
  await scene.settle();
  expect(scene.outcome()).toBe("shop-b=vault shop-b@1, Synced");
});

// Found by the simulation: the connection had been away while the secret lost its metadata, and the
// key was dropped immediately.
test("a secret without its metadata is kept when its rule and its connection change", async () => {
  const metadata = { environment_type: "prod" };
  const rule = (regexp: string) => ({
    data: undefined,
    dataFrom: [{ find: { name: { regexp }, metadata } }],
  });
  const [one, two] = [
    { name: "shop-a", metadata },
    { name: "shop-b", metadata },
  ];
  await using scene = await SimulatedWorld.following([one, two], {}, rule("^shop-"));
  scene.vault("again").lists(one, ...named("shop-b"));
  scene.connect("again");
  scene.follow({}, { ...rule("^shop-[ab]$"), connection: "again" });
  await scene.settle(300_000);
  expect(Object.keys(scene.target()?.data ?? {})).toEqual(["shop-a", "shop-b"]);
  expect(message(scene)).toContain("shop-b no longer has the metadata");
});

// Found by the simulation: an earlier fix dropped the key.
test("a found secret stays when its vault changes and a tool drops the annotations", async () => {
  await using scene = await finding(named("shop-a"), FIND);
  scene.vault("again").lists(...named("shop-b"));
  scene.connect("again");
  scene.follow({}, { data: undefined, dataFrom: FIND, connection: "again" });
  await scene.settle();
  const annotations = { "vaultsync.dev/sources": null, "vaultsync.dev/versions": null };
  scene.server.patch(SECRETS, { namespace: "shop", name: "db" }, { metadata: { annotations } });
  await scene.settle(60_000);
  expect(Object.keys(scene.target()?.data ?? {})).toContain("shop-a");
});

// Found by the simulation: the object had nothing of the secret, and the resource stayed
// SourceMissing.
test("a found secret is just gone if it disappears before it is merged", async () => {
  await using scene = await SimulatedWorld.following(named("shop-a"), {});
  scene.server.create(SECRETS, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "shop", name: "app" },
  });
  const merged = { dataFrom: FIND, target: { name: "app", creationPolicy: "Merge" } };
  scene.follow({ one: "missing" }, merged);
  await scene.settle();
  expect(await list(scene, ...named("shop-b"))).toBe("absent, SourceMissing");
  scene.follow({}, { data: undefined, ...merged });
  await scene.settle();
  expect(Object.keys(scene.target("app")?.data ?? {})).toEqual(["shop-b"]);
  expect(scene.condition("Ready")?.reason).toBe("Synced");
});

const APP = { namespace: "shop", name: "app" };

/** Makes the resource merge what its rule finds into the Secret `app`. */
async function merge(scene: SimulatedWorld, dataFrom: readonly object[]): Promise<void> {
  scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata: APP });
  const target = { name: "app", creationPolicy: "Merge" };
  scene.follow({}, { data: undefined, dataFrom, target });
  await scene.settle();
}

describe("a rule that merges into an object of a user", () => {
  // Found by the simulation: the annotations seemed to be lost, and nothing was merged.
  test("does not wait for a secret that is gone when a user creates the object again", async () => {
    await using scene = await finding(named("shop-a", "shop-b"), FIND);
    await merge(scene, FIND);
    expect(await list(scene, ...named("shop-b"))).toBe("absent, SourceMissing");
    scene.server.delete(SECRETS, APP);
    scene.server.create(SECRETS, { apiVersion: "v1", kind: "Secret", metadata: APP });
    await scene.settle(60_000);
    expect(valuesOf(scene.target("app"))).toEqual({ "shop-b": "vault shop-b@1" });
    expect(scene.outcome()).toBe("absent, Synced");
  });

  test("keeps the key of a secret that is gone when a tool drops the annotation", async () => {
    await using scene = await finding(named("shop-a", "shop-b"), FIND);
    await merge(scene, FIND);
    await list(scene, ...named("shop-b"));
    const annotations = { "merge.vaultsync.dev/vaultsecret.db": null };
    scene.server.patch(SECRETS, APP, { metadata: { annotations } });
    await scene.settle(60_000);
    expect(Object.keys(scene.target("app")?.data ?? {})).toEqual(["shop-a", "shop-b"]);
    expect(scene.condition("Ready")?.reason).toBe("SourceMissing");
  });

  test("keeps the name that has a key among several", async () => {
    await using scene = await finding(named("shop-one"), SUFFIX);
    await list(scene, ...named("a-one", "shop-one"));
    await merge(scene, SUFFIX);
    expect(valuesOf(scene.target("app"))).toEqual({ one: "vault shop-one@1" });
  });
});

describe("a secret that a stranger shares", () => {
  test("neither adds, replaces nor stops a key", async () => {
    await using scene = await finding(named("shop-one", "shop-two"), SUFFIX);
    const strange = from("eve@example.com", "x-one", "shop-LD_PRELOAD", "shop-b c");
    expect(
      await list(scene, { name: "shop-one", version: 2 }, ...named("shop-two"), ...strange),
    ).toBe("one=vault shop-one@2 two=vault shop-two@1, Synced");
  });

  test("is not found although the connection receives from anyone", async () => {
    await using scene = await finding(named("shop-one"), SUFFIX);
    scene.connect("vault", { receive: "Anyone" });
    expect(await list(scene, ...named("shop-one"), ...from("eve@example.com", "x-two"))).toBe(
      "one=vault shop-one@1, Synced",
    );
  });

  test("that an earlier release found is kept and reported, and leaves at its delete_time", async () => {
    await using scene = await finding([...named("shop-one"), ...from(DBA, "shop-two")], SUFFIX);
    scene.connect("vault");
    await scene.settle();
    const deleteAt = scene.clock.now() + 60_000;
    expect(
      await list(scene, ...named("shop-one"), {
        ...from(DBA, "shop-two")[0],
        version: 2,
        deleteAt,
      }),
    ).toBe("one=vault shop-one@1 two=vault shop-two@1, SourceMissing");
    expect(message(scene)).toContain(
      "shop-two is shared by dba@example.com, whom spec.trustedOwners of the connection does not name",
    );
    await scene.settle(60_000);
    expect(await list(scene, ...named("shop-one"))).toBe("one=vault shop-one@1, SourceRemoved");
  });

  test("of one name with others is ambiguous if all are trusted", async () => {
    await using scene = await finding(
      [...from(DBA, "shop-a"), ...from("eve@example.com", "shop-a")],
      FIND,
    );
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1, Synced");
    scene.follow({}, { data: undefined, dataFrom: FIND, name: "other" });
    scene.connect("vault", { trustedOwners: [DBA, "eve@example.com"] });
    await scene.settle();
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1, Synced");
  });
});

describe("rules", () => {
  test("that find the same name make one key", async () => {
    await using scene = await finding(named("shop-a"), [
      ...FIND,
      { find: { name: { regexp: "-a$" } } },
    ]);
    expect(scene.outcome()).toBe("shop-a=vault shop-a@1, Synced");
  });

  test("that find names too long for the annotations of one object are TooLarge", async () => {
    const long = Array.from({ length: 400 }, (_, at) => `shop-${at}-${"x".repeat(220)}`);
    await using scene = await finding(named(...long), FIND);
    expect(scene.outcome()).toBe("absent, TooLarge");
  });
});
