import { describe, expect, test } from "vitest";
import { vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { synced } from "../../lab/kube/removed-sources.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";

const prod = { environment_type: "prod" };
const A = { name: "a", metadata: prod };
const MINUTE = 60_000;
const BOTH = "a=vault a@1 b=vault b@1, SourceMissing";

/**
 * Starts an operator whose rule finds the secrets `a` and `b` by their metadata. Then `b` gets a
 * version without it, and another deadline.
 */
async function withoutMetadata(
  target: object,
  deadlines: { readonly beforeMs: number; readonly afterMs: number },
): Promise<SimulatedWorld> {
  const b = { name: "b", metadata: prod };
  const scene = await SimulatedWorld.following(
    [A, b],
    {},
    { data: undefined, target, dataFrom: [{ find: { metadata: prod } }] },
  );
  const start = scene.clock.now();
  scene.vault().lists(A, { ...b, deleteAt: start + deadlines.beforeMs });
  await scene.settle(10_000);
  scene
    .vault()
    .lists(A, { name: "b", metadata: {}, version: 2, deleteAt: start + deadlines.afterMs });
  await scene.settle(10_000);
  expect(scene.outcome()).toBe(BOTH);
  return scene;
}

/**
 * Starts an operator that has a part of the secret `db` under `password`. An edit requests `db` by a
 * rule, next to secrets that are missing. Then `db` gets a deadline, and disappears.
 */
async function foundUnderFormerKey(target: object, isLate: boolean): Promise<SimulatedWorld> {
  const part = { key: "db", property: "/a" };
  const data = [{ secretKey: "password", remoteRef: part, optional: true }];
  const scene = await synced({ db: '{"a": "1"}' }, { data, target });
  const received = { key: "db", owner: "ann@example.com" };
  const dataFrom = [{ find: { name: { regexp: "^db$" } } }];
  scene.follow({ login: received, other: "missing" }, { dataFrom, target });
  await scene.settle();
  scene.vault().lists({ name: "db", version: 2, deleteAt: scene.clock.now() + MINUTE });
  await scene.settle(30_000);
  expect(scene.outcome()).toBe("password=1, SourceMissing");
  if (isLate) await scene.replace();
  await scene.settle(MINUTE);
  scene.vault().lists();
  await scene.settle(10_000);
  return scene;
}

// Found by the simulation (seed 31337, episode 678): nothing named its bytes any more.
describe("a found secret whose bytes a target has under a key of an earlier spec", () => {
  test.each([false, true])("leaves it at its deadline, after a restart: %s", async (isLate) => {
    await using scene = await foundUnderFormerKey({}, isLate);
    expect(scene.outcome()).toBe("absent, SourceMissing");
  });

  test("stays with whenRemoved: Retain", async () => {
    await using scene = await foundUnderFormerKey({ whenRemoved: "Retain" }, false);
    expect(scene.outcome()).toBe("password=1, SourceMissing");
  });
});

// Found by the simulation: the deadline of an entry that its rule does not find any more was
// forgotten, and its bytes stayed.
describe("a found secret that lost its metadata", () => {
  const DEADLINES = { beforeMs: 600_000, afterMs: 180_000 };

  test.each([false, true])(
    "leaves the target at its deadline, after a restart: %s",
    async (late) => {
      await using scene = await withoutMetadata({}, DEADLINES);
      if (late) await scene.replace();
      await scene.settle(150_000);
      expect(scene.outcome()).toBe(BOTH);
      await scene.settle(20_000);
      scene.vault().lists(A);
      await scene.settle(10_000);
      expect(scene.outcome()).toBe("a=vault a@1, SourceRemoved");
    },
  );

  test("stays after its deadline with whenRemoved: Retain", async () => {
    await using scene = await withoutMetadata({ whenRemoved: "Retain" }, DEADLINES);
    await scene.settle(170_000);
    scene.vault().lists(A);
    await scene.settle(10_000);
    expect(scene.outcome()).toBe(BOTH);
  });

  test("stays if it disappears after a former deadline and before the present one", async () => {
    await using scene = await withoutMetadata({}, { beforeMs: 60_000, afterMs: 600_000 });
    await scene.settle(120_000);
    expect(scene.outcome()).toBe(BOTH);
    scene.vault().lists(A);
    await scene.settle(600_000);
    expect(scene.outcome()).toBe(BOTH);
  });

  // The status showed a deadline of each, as if whenRemoved decided about them: four of five names
  // did not count as lost after a restart.
  test("is held with others that disappear while no operator runs", async () => {
    const target = { whenMissing: "Delete", whenRemoved: "Retain" };
    const others = ["b", "c", "d", "e"];
    const records = [A, ...["f", ...others].map((name) => ({ name, metadata: prod }))];
    const rule = { data: undefined, target, dataFrom: [{ find: { metadata: prod } }] };
    await using scene = await SimulatedWorld.following(records, {}, rule);
    const lost = others.map((name) => ({ name, metadata: {}, version: 2 }));
    scene.vault().lists(...records.slice(0, 2), ...lost);
    await scene.settle(10_000);
    await scene.stop();
    scene.vault().lists(A);
    await scene.replace();
    await scene.settle(300_000);
    expect(Object.keys(scene.target()?.data ?? {})).toEqual(["a", ...others, "f"]);
    expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=5");
  });
});

// The names counted as new ones of the rule, and the status still said that no user had confirmed
// them: the hold began again.
test("found secrets that are held leave when a user has confirmed that", async () => {
  const names = ["a", "b", "c", "d", "e", "f"];
  const records = names.map((name) => ({ name }));
  const target = { whenMissing: "Delete" };
  const dataFrom = [{ find: { name: { regexp: "^.$" } } }];
  await using scene = await SimulatedWorld.following(
    records,
    {},
    { data: undefined, target, dataFrom },
  );
  scene.vault().lists(...records.slice(0, 1));
  await scene.settle(60_000);
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=5");
  const annotations = { "vaultsync.dev/confirm-removals": "5" };
  const connection = { namespace: "shop", name: "vault" };
  scene.server.patch(vaultConnectionKind, connection, { metadata: { annotations } });
  await scene.settle(300_000);
  expect(scene.outcome()).toBe("a=vault a@1, Synced");
  expect(scene.connectionCondition("RemovalsHeld")?.status).not.toBe("True");
});

test("too many names of a rule do not keep what the vault removes", async () => {
  const spec = { data: undefined, dataFrom: [{ find: { name: { regexp: "^db-" } } }] };
  const first = [{ name: "db-a" }, { name: "db-b" }];
  await using scene = await SimulatedWorld.following(first, {}, spec);
  const many = Array.from({ length: 800 }, (_, n) => ({ name: `db-${"x".repeat(100)}-${n}` }));
  const deleteAt = scene.clock.now() + 5 * MINUTE;
  scene.vault().lists({ name: "db-a" }, { name: "db-b", deleteAt });
  await scene.settle(MINUTE);
  scene.vault().lists({ name: "db-a" }, { name: "db-b", deleteAt }, ...many);
  await scene.settle(MINUTE);
  expect(scene.condition("Ready")?.reason).toBe("TooLarge");
  await scene.settle(4 * MINUTE);
  scene.vault().lists({ name: "db-a" }, ...many);
  await scene.settle(2 * MINUTE);
  expect(Object.keys(scene.target()?.data ?? {})).toEqual(["db-a"]);
  expect(scene.condition("Ready")?.reason).toBe("TooLarge");
});

type Listed = Partial<SecretRecord>;

const named = (...names: readonly string[]): Listed[] => names.map((name) => ({ name }));

const messageOf = (scene: SimulatedWorld): string | undefined => scene.condition("Ready")?.message;

/** A rule that makes the key `a` of `shop-a` and of `shopa`. */
const RULE = [
  {
    find: { name: { regexp: "^shop-?" } },
    rewrite: [{ regexp: { source: "^shop-?", target: "" } }],
  },
];
const DELETE = { whenMissing: "Delete" };
const KEPT = "a=vault shop-a@1 b=vault shop-b@1";
const TAKEN = "a=vault shopa@1 b=vault shop-b@1";

/** Starts an operator whose rule has made the keys of `shop-a` and `shop-b`. */
const serving = (target: object = {}): Promise<SimulatedWorld> =>
  SimulatedWorld.following(
    named("shop-a", "shop-b"),
    {},
    { data: undefined, dataFrom: RULE, target },
  );

/** Sets what the vault lists, and waits for the operator. */
async function list(scene: SimulatedWorld, ...listed: readonly Listed[]): Promise<void> {
  scene.vault().lists(...listed);
  await scene.settle();
}

describe("a secret whose key another one has", () => {
  test("does not replace one that a list lacks", async () => {
    await using scene = await serving();
    await list(scene, ...named("shop-a", "shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, InvalidKey`);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, SourceMissing`);
    expect(messageOf(scene)).toContain("existing content is kept");
    expect(messageOf(scene)).toContain("; shopa does not get its key a: set rewrite");
    await scene.replace();
    await scene.settle(600_000);
    expect(scene.outcome()).toBe(`${KEPT}, SourceMissing`);
    await list(scene, ...named("shop-a", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, Synced`);
  });

  test("replaces it with whenMissing: Delete on proof, in one write", async () => {
    await using scene = await serving(DELETE);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, SourceMissing`);
    expect(messageOf(scene)).toContain("; then shopa gets its key a");
    scene.takeRequests();
    await scene.settle(300_000);
    const writes = scene.takeRequests().filter((request) => request.includes(" secrets "));
    expect(writes).toEqual(["patch secrets db"]);
    expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
  });

  test("replaces it at its delete_time", async () => {
    await using scene = await serving();
    const deleteAt = scene.clock.now() + 20_000;
    await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
    await scene.settle(20_000);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
  });

  test("does not replace it after its delete_time with whenRemoved: Retain", async () => {
    await using scene = await serving({ whenRemoved: "Retain" });
    const deleteAt = scene.clock.now() + 20_000;
    await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
    await scene.settle(20_000);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toBe(`${KEPT}, SourceRemoved`);
  });

  test("does not replace it during a hold, but when a user has confirmed that", async () => {
    const names = Array.from({ length: 8 }, (_, at) => `shop-c${at}`);
    await using scene = await SimulatedWorld.following(
      named("shop-a", "shop-b", ...names),
      {},
      { data: undefined, dataFrom: RULE, target: DELETE },
    );
    await list(scene, ...named("shopa", "shop-b"));
    await scene.settle(300_000);
    expect(scene.outcome()).toContain(KEPT);
    expect(messageOf(scene)).toContain("too many names disappeared");
    const annotations = { "vaultsync.dev/confirm-removals": "9" };
    expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=9");
    const connection = { namespace: "shop", name: "vault" };
    scene.server.patch(vaultConnectionKind, connection, { metadata: { annotations } });
    await scene.settle(300_000);
    expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
  });

  test("does not replace one whose bytes only the former target has", async () => {
    await using scene = await serving();
    scene.vault().lists(...named("shopa", "shop-b"));
    scene.follow({}, { data: undefined, dataFrom: RULE, target: { name: "next" } });
    await scene.settle();
    expect(scene.outcome()).toContain(KEPT);
    expect(scene.target("next")?.data ?? {}).not.toHaveProperty("a");
  });

  test("leaves no bytes of it behind when a freeze keeps the successor away", async () => {
    await using scene = await serving();
    const deleteAt = scene.clock.now() + 20_000;
    await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
    scene.freeze();
    await scene.settle(20_000);
    await list(scene, ...named("shopa", "shop-b"));
    expect(scene.outcome()).toContain("b=vault shop-b@1,");
    expect(scene.outcome()).not.toContain("a=");
    await scene.settle(3_600_000);
    expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
  });

  test.each([false, true])(
    "leaves no bytes behind when the successor cannot be read, after a restart: %s",
    async (isRestarted) => {
      await using scene = await serving();
      const deleteAt = scene.clock.now() + 20_000;
      await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
      scene.vault().unreadable.add("shopa");
      await scene.settle(120_000);
      expect(scene.outcome()).toContain(KEPT);
      if (isRestarted) await scene.replace();
      await scene.settle(600_000);
      expect(scene.outcome()).toContain("b=vault shop-b@1,");
      expect(scene.outcome()).not.toContain("a=");
      scene.vault().unreadable.clear();
      await scene.settle(600_000);
      expect(scene.outcome()).toBe(`${TAKEN}, Synced`);
    },
  );

  test("leaves no bytes of it behind in a former target", async () => {
    await using scene = await serving();
    const deleteAt = scene.clock.now() + 60_000;
    await list(scene, { name: "shop-a", deleteAt }, ...named("shopa", "shop-b"));
    const data = [{ secretKey: "c", remoteRef: { key: "other" } }];
    scene.follow({}, { data, dataFrom: RULE, target: { name: "next" } });
    await scene.settle(10_000);
    expect(Object.keys(scene.target()?.data ?? {})).toEqual(["a", "b"]);
    await scene.settle(50_000);
    await list(scene, ...named("shopa", "shop-b"));
    await scene.settle(600_000);
    expect(Object.keys(scene.target()?.data ?? {})).toEqual(["b"]);
    await list(scene, ...named("shopa", "shop-b", "other"));
    await scene.settle(600_000);
    expect(Object.keys(scene.target("next")?.data ?? {}).sort()).toEqual(["a", "b", "c"]);
    expect(scene.target()).toBeUndefined();
  });
});
