import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { ACCOUNT, type SimulatedVault } from "../lab/simulated/simulated-vault.ts";
import { CONFIG_MAPS } from "../../src/operator/kube/resource.ts";
import { vaultConnectionKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../src/operator/api/names.ts";

const MINUTE = 60_000;
/** Long enough for three lists over two intervals, and a little more. */
const PROOF = 4 * MINUTE;

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `db-${n}`);
const remaining = (scene: SimulatedWorld, all: readonly string[]): string[] =>
  all.filter((name) => scene.value("shop", name) !== undefined);
const connection = { namespace: "shop", name: "vault" };
const annotationOf = (scene: SimulatedWorld): string | undefined =>
  scene.server.get(vaultConnectionKind, connection).metadata.annotations?.[
    CONFIRM_REMOVALS_ANNOTATION
  ];

function confirm(scene: SimulatedWorld, number: string): void {
  const metadata = { annotations: { [CONFIRM_REMOVALS_ANNOTATION]: number } };
  scene.server.patch(vaultConnectionKind, connection, { metadata });
}

/** Starts an operator that has synced secrets of these names. */
async function synced(
  scene: SimulatedWorld,
  all: readonly string[],
  target: object,
): Promise<SimulatedVault> {
  const vault = scene.addVault("shop", all, target);
  scene.start();
  await scene.clock.advance(MINUTE);
  expect(remaining(scene, all)).toEqual(all);
  return vault;
}

describe("a source that is missing", () => {
  test("keeps its target by default, however long it is missing", async () => {
    await using scene = new SimulatedWorld();
    const vault = await synced(scene, ["a", "b"], {});
    vault.remove("a");
    await scene.clock.advance(10 * MINUTE);
    expect(scene.value("shop", "a")).toBe("a@1");
    expect(scene.condition("Ready", "a")?.reason).toBe("SourceMissing");
  });

  test("loses its target with whenMissing: Delete after three lists, and not after two", async () => {
    await using scene = new SimulatedWorld();
    const vault = await synced(scene, ["a", "b"], { whenMissing: "Delete" });
    vault.remove("a");
    vault.listedAt.length = 0;
    const start = scene.clock.monotonic();
    while (scene.value("shop", "a") !== undefined) await scene.clock.advance(100);
    const [first = 0] = vault.listedAt;
    // The jitter allows three lists within less than two intervals. A fourth list follows them.
    expect([3, 4]).toContain(vault.listedAt.length);
    expect(scene.clock.monotonic() - first).toBeGreaterThanOrEqual(2 * MINUTE);
    expect(scene.clock.monotonic() - start).toBeLessThan(PROOF);
    expect(scene.value("shop", "a")).toBeUndefined();
    expect(scene.value("shop", "b")).toBe("b@1");
    expect(scene.condition("Ready", "a")).toMatchObject({ reason: "SourceMissing" });
  });

  test("keeps its target with whenMissing: Delete if one of the lists has it", async () => {
    await using scene = new SimulatedWorld();
    const vault = await synced(scene, ["a", "b"], { whenMissing: "Delete" });
    for (let round = 0; round < 5; round += 1) {
      vault.remove("a");
      await scene.clock.advance(100_000);
      vault.write("a");
      await scene.clock.advance(70_000);
    }
    expect(scene.value("shop", "a")).toBe("a@1");
  });

  test.each<object>([
    { data: [] },
    { items: [] },
    { message: "ok", result: {} },
    { data: [], status: "maintenance" },
    { secrets: {} },
    { files: [] },
    { secrets: [], error: { code: "maintenance" } },
  ])("keeps its target while a gateway responds with 200 and %j to every list", async (body) => {
    await using scene = new SimulatedWorld();
    const vault = await synced(scene, ["a", "b"], { whenMissing: "Delete" });
    vault.listBody = body;
    await scene.clock.advance(20 * MINUTE);
    expect(remaining(scene, ["a", "b"])).toEqual(["a", "b"]);
    expect(scene.connectionCondition("Ready")).toMatchObject({
      status: "False",
      reason: "UnexpectedResponse",
    });
    vault.listBody = undefined;
    vault.write("a");
    await scene.clock.advance(6 * MINUTE);
    expect(scene.value("shop", "a")).toBe("a@2");
    expect(scene.connectionCondition("Ready")?.status).toBe("True");
  });

  test("counts its lists from the beginning after a restart", async () => {
    await using scene = new SimulatedWorld();
    const vault = await synced(scene, ["a", "b"], { whenMissing: "Delete" });
    vault.remove("a");
    for (let round = 0; round < 5; round += 1) {
      await scene.clock.advance(80_000);
      await scene.restart();
    }
    expect(scene.value("shop", "a")).toBe("a@1");
    await scene.clock.advance(PROOF);
    expect(scene.value("shop", "a")).toBeUndefined();
  });

  test("counts its lists from the beginning with another spec of the connection", async () => {
    await using scene = new SimulatedWorld();
    const vault = await synced(scene, ["a", "b"], { whenMissing: "Delete" });
    vault.remove("a");
    for (let round = 0; round < 5; round += 1) {
      await scene.clock.advance(80_000);
      scene.server.patch(vaultConnectionKind, connection, { spec: { timeout: `${11 + round}s` } });
    }
    expect(scene.value("shop", "a")).toBe("a@1");
  });
});

describe("many names that disappear together", () => {
  test("keep their targets until a user confirms their number", async () => {
    await using scene = new SimulatedWorld();
    const all = names(10);
    const vault = await synced(scene, all, { whenMissing: "Delete" });
    vault.remove(...all.slice(0, 5));
    await scene.clock.advance(PROOF);
    expect(remaining(scene, all)).toEqual(all);
    expect(scene.connectionCondition("RemovalsHeld")).toMatchObject({
      status: "True",
      reason: "RemovalsHeld",
    });
    expect(scene.connectionCondition("RemovalsHeld")?.message).toContain(
      "vaultsync.dev/confirm-removals=5",
    );
    expect(scene.condition("Ready", "db-0")?.message).toContain("RemovalsHeld");
    confirm(scene, "4");
    await scene.clock.advance(PROOF);
    expect(remaining(scene, all).length).toBe(10);
    expect(annotationOf(scene)).toBeUndefined();
    confirm(scene, "5");
    await scene.clock.advance(MINUTE);
    expect(remaining(scene, all)).toEqual(all.slice(5));
    expect(annotationOf(scene)).toBeUndefined();
    expect(scene.connectionCondition("RemovalsHeld")).toBeUndefined();
  });

  test("are not held if they are 20 % of the names, or fewer than five", async () => {
    await using scene = new SimulatedWorld();
    const all = names(25);
    const vault = await synced(scene, all, { whenMissing: "Delete" });
    vault.remove(...all.slice(0, 5));
    await scene.clock.advance(PROOF);
    expect(remaining(scene, all)).toEqual(all.slice(5));
  });

  test("hold none of a connection with four names", async () => {
    await using scene = new SimulatedWorld();
    const all = names(4);
    const vault = await synced(scene, all, { whenMissing: "Delete" });
    vault.remove(...all);
    await scene.clock.advance(PROOF);
    expect(remaining(scene, all)).toEqual([]);
  });

  test("hold what the vault removed at its deadline, also after a restart", async () => {
    await using scene = new SimulatedWorld();
    const all = names(10);
    const vault = await synced(scene, all, {});
    vault.schedule(scene.clock.now() + 2 * MINUTE, ...all.slice(0, 6));
    await scene.clock.advance(4 * MINUTE);
    const held = scene.condition("Ready", "db-0");
    expect(remaining(scene, all).length).toBe(10);
    expect(held?.reason).toBe("SourceRemoved");
    expect(held?.message).toContain("RemovalsHeld");
    await scene.restart();
    await scene.clock.advance(2 * MINUTE);
    expect(remaining(scene, all)).toEqual(all);
    confirm(scene, "6");
    await scene.clock.advance(MINUTE);
    expect(remaining(scene, all)).toEqual(all.slice(6));
  });

  test("are held if they disappeared while no operator ran", async () => {
    await using scene = new SimulatedWorld();
    const all = names(10);
    const vault = await synced(scene, all, { whenMissing: "Delete" });
    await scene.restart(() => vault.remove(...all));
    await scene.clock.advance(PROOF);
    expect(remaining(scene, all)).toEqual(all);
    expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=10");
  });

  test("are held if another scope of the connection lacks them", async () => {
    await using scene = new SimulatedWorld();
    const all = names(10);
    const vault = await synced(scene, all, { whenMissing: "Delete" });
    vault.remove(...all.slice(3));
    scene.server.patch(vaultConnectionKind, connection, {
      spec: { scope: { cloudType: ["aws"] } },
    });
    await scene.clock.advance(PROOF);
    expect(remaining(scene, all)).toEqual(all);
  });

  test("raise the number that has to be confirmed when more follow", async () => {
    await using scene = new SimulatedWorld();
    const all = names(20);
    const vault = await synced(scene, all, { whenMissing: "Delete" });
    vault.remove(...all.slice(0, 6));
    await scene.clock.advance(2 * MINUTE);
    vault.remove("db-6");
    await scene.clock.advance(PROOF);
    confirm(scene, "6");
    await scene.clock.advance(PROOF);
    expect(remaining(scene, all)).toEqual(all);
    confirm(scene, "7");
    await scene.clock.advance(MINUTE);
    expect(remaining(scene, all)).toEqual(all.slice(7));
    vault.remove(...all.slice(7, 13));
    await scene.clock.advance(PROOF);
    expect(remaining(scene, all)).toEqual(all.slice(7));
  });

  test("are released when all of them are back or no longer referenced", async () => {
    await using scene = new SimulatedWorld();
    const all = names(10);
    const vault = await synced(scene, all, { whenMissing: "Delete" });
    vault.remove(...all.slice(0, 6));
    await scene.clock.advance(2 * MINUTE);
    vault.write(...all.slice(0, 4));
    await scene.clock.advance(2 * MINUTE);
    expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=2");
    vault.write("db-4");
    scene.server.delete(vaultSecretKind, { namespace: "shop", name: "db-5" });
    await scene.clock.advance(2 * MINUTE);
    expect(scene.connectionCondition("RemovalsHeld")).toBeUndefined();
    vault.remove("db-0");
    await scene.clock.advance(PROOF);
    expect(remaining(scene, ["db-0", "db-1"])).toEqual(["db-1"]);
  });
});

test("a suspended resource keeps its target until it is resumed, also if removals are confirmed", async () => {
  await using scene = new SimulatedWorld();
  const all = names(10);
  const suspend = (value: boolean): unknown =>
    scene.server.patch(
      vaultSecretKind,
      { namespace: "shop", name: "db-0" },
      { spec: { suspend: value } },
    );
  const vault = await synced(scene, all, { whenMissing: "Delete" });
  suspend(true);
  vault.remove(...all.slice(0, 6));
  await scene.clock.advance(5 * MINUTE);
  expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=6");
  confirm(scene, "6");
  await scene.clock.advance(MINUTE);
  expect(remaining(scene, all)).toEqual(["db-0", ...all.slice(6)]);
  expect(scene.condition("Ready", "db-0")?.reason).toBe("Suspended");
  suspend(false);
  await scene.clock.advance(MINUTE);
  expect(remaining(scene, all)).toEqual(all.slice(6));
});

describe("a file that is missing", () => {
  const all = Array.from({ length: 10 }, (_, n) => `file-${n}`);
  const left = (scene: SimulatedWorld): string[] =>
    all.filter((name) => scene.server.find(CONFIG_MAPS, { namespace: "shop", name }) !== undefined);

  /**
   * Starts an operator that has synced ten files of a vault that holds its lists until they change,
   * and removes some.
   */
  async function without(scene: SimulatedWorld, count: number, policies: object): Promise<void> {
    const vault = scene.addFileVault("shop", all, policies);
    scene.start();
    await scene.clock.advance(MINUTE);
    expect(left(scene)).toEqual(all);
    for (const filename of all.slice(0, count)) vault.act(ACCOUNT, "delete_file", { filename });
  }

  test("keeps its target by default", async () => {
    await using scene = new SimulatedWorld();
    await without(scene, 1, {});
    await scene.clock.advance(10 * MINUTE);
    expect(left(scene)).toEqual(all);
  });

  test("from three held lists loses its target with whenMissing: Delete", async () => {
    await using scene = new SimulatedWorld();
    await without(scene, 1, { whenMissing: "Delete" });
    await scene.clock.advance(110_000);
    expect(left(scene)).toEqual(all);
    await scene.clock.advance(2 * MINUTE);
    expect(left(scene)).toEqual(all.slice(1));
  });

  test("keeps its target with many others until a user confirms their number", async () => {
    await using scene = new SimulatedWorld();
    await without(scene, 6, { whenMissing: "Delete" });
    await scene.clock.advance(10 * MINUTE);
    expect(left(scene)).toEqual(all);
    expect(scene.connectionCondition("RemovalsHeld")?.message).toContain("confirm-removals=6");
    confirm(scene, "6");
    await scene.clock.advance(MINUTE);
    expect(left(scene)).toEqual(all.slice(6));
  });
});
