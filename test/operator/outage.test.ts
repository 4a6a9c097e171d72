import { expect, test } from "vitest";
import { busiestWindow } from "../lab/busiest-second.ts";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";

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
