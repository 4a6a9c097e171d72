import { expect, test } from "vitest";
import { SimulatedWorld } from "../lab/simulated/simulated-world.ts";
import { KubeError } from "../../src/operator/kube/kube-error.ts";
import { vaultSecretKind } from "../../src/operator/api/kinds.ts";

const MINUTE = 60_000;

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
}

/** Returns the smallest value that at least this share of the values do not exceed. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/**
 * Returns the propagation times of 150 changes, while vaults in other namespaces have 100 each:
 * they take 8 s for each request, or respond with 429 to most of them.
 */
async function propagationsOf(neighbors: {
  slow?: number;
  throttled?: number;
}): Promise<{ times: number[]; others: number }> {
  const { slow = 0, throttled = 0 } = neighbors;
  await using scene = new SimulatedWorld();
  const healthy = names("healthy", 150);
  const vault = scene.addVault("shop", healthy);
  const others = names("other", slow + throttled);
  const vaults = others.map((namespace) => scene.addVault(namespace, names(namespace, 100)));
  scene.start();
  await scene.clock.advance(2 * MINUTE);
  for (const each of vaults.slice(0, slow)) each.latencyMs = 8_000;
  for (const each of vaults.slice(slow)) each.requestsPerSecond = 1;
  scene.resetMeasurements();
  for (let round = 0; round < 2; round += 1) {
    vaults.forEach((each, n) => each.write(...names(others[n] ?? "", 100)));
    // Their lists arrive first.
    await scene.clock.advance(20_000);
    vault.write(...healthy.slice(round * 75, round * 75 + 75));
    await scene.clock.advance(MINUTE);
  }
  for (const name of healthy) expect(scene.value("shop", name)).toBe(`${name}@2`);
  return {
    times: scene.propagations("shop"),
    others: others.flatMap((namespace) => scene.propagations(namespace)).length,
  };
}

let undisturbed: ReturnType<typeof propagationsOf> | undefined;

test.each([
  ["a vault that takes 8 s for each of 100 resources delays", { slow: 1 }],
  ["six vaults that take 8 s for each of 100 resources delay", { slow: 6 }],
  ["six vaults that throttle the reads of 100 resources delay", { throttled: 6 }],
])("%s those of another by less than 1.2x", async (_, neighbors) => {
  undisturbed ??= propagationsOf({});
  const { times } = await undisturbed;
  const beside = await propagationsOf(neighbors);
  expect(times.length).toBe(150);
  expect(beside.times.length).toBe(150);
  expect(beside.others).toBeGreaterThan(20);
  expect(percentile(beside.times, 0.99)).toBeLessThan(1.2 * percentile(times, 0.99));
});

/** Changes 30 of 95 names each minute, optionally while 5 others cannot be read. */
async function changesBeside({
  unreadable,
}: {
  unreadable: boolean;
}): Promise<{ times: number[]; lists: number }> {
  await using scene = new SimulatedWorld();
  const readable = names("readable", 95);
  const broken = names("broken", 5);
  const vault = scene.addVault("shop", [...readable, ...broken]);
  scene.start();
  await scene.clock.advance(MINUTE);
  if (unreadable) for (const name of broken) vault.unreadable.add(name);
  vault.write(...broken);
  await scene.clock.advance(MINUTE + 10_000);
  scene.resetMeasurements();
  for (let minute = 0; minute < 15; minute += 1) {
    const start = (minute % 3) * 30;
    vault.write(...readable.slice(start, start + 30));
    await scene.clock.advance(MINUTE + 7_000);
  }
  return { times: scene.propagations("shop"), lists: vault.listedAt.length };
}

test("5 names that cannot be read cost the other 95 of their connection no list and no change", async () => {
  const alone = await changesBeside({ unreadable: false });
  const beside = await changesBeside({ unreadable: true });
  expect(alone.times.length).toBe(450);
  expect(beside.times.length).toBe(450);
  expect(beside.lists).toBeGreaterThanOrEqual(alone.lists - 1);
  expect(percentile(beside.times, 0.99)).toBeLessThan(1.2 * percentile(alone.times, 0.99));
});

test("64 resources that are edited every 10 ms delay a change of the vault by less than 1 s", async () => {
  await using scene = new SimulatedWorld();
  const hot = names("hot", 64);
  const vault = scene.addVault("shop", [...hot, "quiet"]);
  scene.start();
  await scene.clock.advance(MINUTE);
  scene.resetMeasurements();
  vault.write("quiet");
  // The edits start before the response to the list arrives.
  vault.latencyMs = 500;
  while (vault.listedAt.length === 0) await scene.clock.advance(100);
  vault.latencyMs = 10;
  for (let edits = 0; edits < 150; edits += 1) {
    const patch = {
      spec: { data: [{ secretKey: `value${edits % 2}`, remoteRef: { key: "hot-1" } }] },
    };
    for (const name of hot) scene.server.patch(vaultSecretKind, { namespace: "shop", name }, patch);
    await scene.clock.advance(10);
  }
  expect(scene.value("shop", "quiet")).toBe("quiet@2");
  expect(scene.propagations("shop")).toHaveLength(1);
});

test("an outage of the API server of 20 minutes costs few requests, and ends within 40 s for all", async () => {
  await using scene = new SimulatedWorld();
  const all = names("secret", 100);
  const vault = scene.addVault("shop", all);
  scene.start();
  await scene.clock.advance(MINUTE);
  scene.network = {
    send: ({ verb }) => {
      throw new KubeError({ kind: "Unavailable", operation: verb, reason: "ECONNREFUSED" });
    },
  };
  for (const watch of scene.server.watches()) watch.drop();
  scene.resetMeasurements();
  vault.write(...all);
  await scene.clock.advance(20 * MINUTE);
  const inSecond = new Map<number, number>();
  for (const at of scene.requestedAt)
    inSecond.set(Math.floor(at / 1_000), (inSecond.get(Math.floor(at / 1_000)) ?? 0) + 1);
  // Each of the 100 keys tries once, and the first retries are a burst of 100; 6 watches and the
  // status are in addition.
  expect(Math.max(...inSecond.values())).toBeLessThanOrEqual(220);
  expect(scene.requestedAt.length).toBeLessThan(5_000);
  scene.network = {};
  await scene.clock.advance(40_000);
  for (const name of all) expect(scene.value("shop", name)).toBe(`${name}@2`);
});
