import { describe, expect, test } from "vitest";
import { vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";

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
