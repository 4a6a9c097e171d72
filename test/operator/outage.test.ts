import { describe, expect, test } from "vitest";
import { busiestWindow } from "../lab/busiest-second.ts";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import type { SimulatedVault } from "../lab/simulated/simulated-vault.ts";
import { vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import type { InMemoryResponse } from "../lab/simulated/vault/in-memory-vault.ts";
import { TransientError } from "../../src/operator/vault-client/vault-error.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** The default interval of a connection. */
const INTERVAL = MINUTE;
const CONNECTIONS = 40;

/**
 * A scene with connections of vaults that hold their lists, or not. The vaults fail and are listed
 * together.
 */
async function startVaults({ holds }: { readonly holds: boolean }) {
  const scene = new SimulatedWorld();
  const names = Array.from({ length: CONNECTIONS }, (_, n) => `team-${n}`);
  const vaults = names.map((name) => scene.addVault(name, [name]));
  for (const vault of vaults) vault.holds = holds;
  scene.start();
  await scene.clock.advance(5 * MINUTE);
  return {
    scene,
    setDown: (isDown: boolean): void => {
      for (const vault of vaults) vault.setDown(isDown);
    },
    changeAll: (): void => {
      for (const [n, vault] of vaults.entries()) vault.write(`team-${n}`);
    },
    values: (): (string | undefined)[] => names.map((name) => scene.value(name, name)),
    readiness: (): Set<string | undefined> =>
      new Set(names.map((name) => scene.connectionCondition("Ready", name)?.status)),
    /**
     * Returns the times of the lists that are requested within the next `ms`, in ascending order.
     */
    listsWithin: async (ms: number): Promise<number[]> => {
      scene.resetMeasurements();
      await scene.clock.advance(ms);
      return vaults.flatMap(({ listedAt }) => listedAt).sort((a, b) => a - b);
    },
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  };
}

test.each([
  ["holds lists", { holds: true }],
  ["does not hold lists", { holds: false }],
])(
  "an outage of a vault that %s at most doubles its lists, during it and afterwards",
  async (_, options) => {
    await using vaults = await startVaults(options);
    const steady = (await vaults.listsWithin(10 * INTERVAL)).length / 10;
    vaults.setDown(true);
    // The first retries follow each other closely: a short interruption is a short delay.
    const first = await vaults.listsWithin(INTERVAL);
    expect(first.length).toBeLessThanOrEqual(7 * CONNECTIONS);
    const during = await vaults.listsWithin(10 * INTERVAL);
    expect(during.length / 10).toBeLessThanOrEqual(1.3 * steady);
    vaults.changeAll();
    vaults.setDown(false);
    const after = await vaults.listsWithin(80 * SECOND);
    expect(vaults.values()).toEqual(Array.from({ length: CONNECTIONS }, (__, n) => `team-${n}@2`));
    after.push(...(await vaults.listsWithin(5 * INTERVAL)));
    expect(busiestWindow(after, INTERVAL)).toBeLessThanOrEqual(2 * steady);
  },
);

test("a connection is Ready within 80 s after an outage in which nothing changed in the vault", async () => {
  await using vaults = await startVaults({ holds: true });
  vaults.setDown(true);
  await vaults.listsWithin(10 * MINUTE);
  expect(vaults.readiness()).toEqual(new Set(["False"]));
  vaults.setDown(false);
  await vaults.listsWithin(80 * SECOND);
  expect(vaults.readiness()).toEqual(new Set(["True"]));
});

const HOUR = 60 * MINUTE;

/** A response that no vault sends. */
const page = (status: number, text: string) => (): InMemoryResponse => ({
  status,
  headers: {},
  body: new TextEncoder().encode(text),
});

const gateway = page(504, "upstream request timeout");
const reset = (): never => {
  throw new TransientError("list_no_dup", "reset");
};

/**
 * Starts an operator with a vault that holds lists, behind a proxy that ends them after `afterMs`.
 */
async function startBehind(proxy?: SimulatedVault["proxy"]) {
  const scene = new SimulatedWorld();
  const vault = scene.addVault("shop", ["db"]);
  vault.holds = true;
  vault.proxy = proxy;
  scene.start();
  await scene.clock.advance(5 * SECOND);
  vault.listedAt.length = 0;
  let writes: (string | undefined)[] = [];
  scene.server.onCommit(({ resource }) => {
    if (resource.plural === vaultConnectionKind.plural)
      writes.push(scene.connectionCondition("Ready")?.status);
  });
  /**
   * Returns the number of lists, and Ready as each write of the status of the connection showed it,
   * since the last call.
   */
  const take = () => {
    const taken = { lists: vault.listedAt.splice(0).length, writes };
    writes = [];
    return taken;
  };
  return { scene, vault, take, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() };
}

describe("a connection behind a proxy that ends held requests", () => {
  test.each<[string, number, () => InMemoryResponse, number]>([
    ["with 504 after 15 s", 15, gateway, 14],
    ["with 504 after 30 s", 30, gateway, 29],
    ["by a reset after 30 s", 30, reset, 29],
    ["with 502 after 30 s", 30, page(502, "<html>Bad Gateway</html>"), 29],
    ["with an HTML page and 200 after 30 s", 30, page(200, "<html>Please wait</html>"), 29],
    ["with 204 after 30 s", 30, page(204, ""), 29],
    ["with 403 after 30 s", 30, page(403, "<html>Forbidden</html>"), 29],
  ])("%s keeps its status and has each list in progress", async (_, seconds, end, heldSeconds) => {
    await using behind = await startBehind({ afterMs: seconds * SECOND, end });
    await behind.scene.clock.advance(HOUR);
    const { lists, writes } = behind.take();
    expect(writes).toEqual([]);
    expect(lists).toBeLessThanOrEqual(3_600 / heldSeconds + 8);
    behind.vault.write("db");
    await behind.scene.clock.advance(2 * SECOND);
    expect(behind.scene.value("shop", "db")).toBe("db@2");
  });

  test("after 3 s is listed once per interval", async () => {
    await using behind = await startBehind({ afterMs: 3 * SECOND, end: gateway });
    await behind.scene.clock.advance(HOUR);
    const { lists, writes } = behind.take();
    expect(writes).toEqual([]);
    expect(lists).toBeLessThanOrEqual(60 * 1.2 + 10);
  });

  test("tries once an hour whether the path holds longer", async () => {
    await using behind = await startBehind({ afterMs: 3 * SECOND, end: gateway });
    await behind.scene.clock.advance(HOUR);
    behind.vault.proxy = undefined;
    await behind.scene.clock.advance(5 * HOUR);
    behind.take();
    await behind.scene.clock.advance(HOUR);
    expect(behind.take().lists).toBeLessThanOrEqual(73);
  });
});

test("a vault that goes down during a held request is reported by the next list", async () => {
  await using behind = await startBehind();
  await behind.scene.clock.advance(10 * SECOND);
  behind.vault.setDown(true);
  await behind.scene.clock.advance(SECOND);
  expect(behind.scene.connectionCondition("Ready")).toMatchObject({
    status: "False",
    reason: "VaultUnreachable",
  });
  behind.vault.setDown(false);
  await behind.scene.clock.advance(2 * MINUTE);
  expect(behind.scene.connectionCondition("Ready")).toMatchObject({ status: "True" });
  behind.take();
  // The outage says nothing about the path.
  await behind.scene.clock.advance(HOUR);
  expect(behind.take().lists).toBeLessThanOrEqual(73);
});
