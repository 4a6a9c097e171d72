import { expect, test } from "vitest";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import { freeze, update } from "./gated-targets.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** Six times the resync of all resources. */
const PERIOD = 180 * MINUTE;
/** Without its cache, the operator reads a rejected value again at each resync. */
const DEFAULT_CACHE_BYTES = 16 * 1024 * 1024;
/** Opens in January; the simulated clock starts in November. */
const windows = [{ schedule: "0 0 1 1 *", duration: "1h" }];

/** A gate that stays closed for hours. */
interface ClosedGate {
  /** Fields of the spec of each resource. */
  readonly spec?: object;
  /** Rules for the value of each resource. */
  readonly validate?: object;
  /** Closes a gate that is no field of the spec. */
  readonly close?: (scene: SimulatedWorld, names: readonly string[]) => void;
  /** The new version of each resource is read: its value is what closes the gate. */
  readonly reads?: true;
  /** The reason of UpdateAvailable or of Ready, if it is not the name of the gate. */
  readonly reason?: string;
}

const gates: Readonly<Record<string, ClosedGate>> = {
  Held: {
    close: (scene, names) => {
      for (const name of names) scene.annotate({ "vaultsync.dev/hold": "*" }, name);
    },
  },
  Frozen: {
    close: (scene) => freeze(scene, { until: new Date(scene.clock.now() + 2 * DAY).toISOString() }),
  },
  AwaitingApproval: { spec: { updates: { approval: "Required" } } },
  OutsideWindow: { spec: { updates: { windows } } },
  RefreshInterval: { spec: { refreshInterval: "48h" }, reason: "Synced" },
  InvalidContent: { validate: { maxLength: "vault s-00@1".length }, reads: true },
};

/** Starts an operator that has synced so many resources behind a gate that is closed now. */
async function closed(
  { spec = {}, validate, close }: ClosedGate,
  names: readonly string[],
): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop(...names);
  await scene.replace({ valueCacheBytes: DEFAULT_CACHE_BYTES });
  for (const name of names) {
    const data = [{ secretKey: "value", remoteRef: { key: name }, ...(validate && { validate }) }];
    scene.follow({}, { name, data, ...spec });
  }
  await scene.settle();
  close?.(scene, names);
  await scene.settle();
  expect(outcomes(scene, names)).toEqual(names.map((name) => `value=vault ${name}@1, Synced`));
  scene.takeRequests();
  scene.vault().calls.length = 0;
  return scene;
}

const outcomes = (scene: SimulatedWorld, names: readonly string[]): string[] =>
  names.map((name) => scene.outcome(name));

/** Returns the numbers of values that were read, and of lists, since the last call. */
function takeCalls(scene: SimulatedWorld): { reads: number; lists: number } {
  const { polls: lists, calls } = scene.vault();
  const reads = calls.splice(0).filter(({ operation }) => operation.includes("expose")).length;
  return { reads, lists };
}

test.each(
  Object.entries(gates).flatMap(([gate, how]) => [1, 50].map((n) => [gate, n, how] as const)),
)(
  "%s: a new version of %i resources costs a status each, and nothing more in hours",
  async (gate, count, how) => {
    const names = Array.from({ length: count }, (_, n) => `s-${String(n).padStart(2, "0")}`);
    await using scene = await closed(how, names);
    // given: versions that the gate keeps back, the tenth one because its value is longer
    scene.vault().lists(...names.map((name) => ({ name, version: 10 })));
    await scene.settle();
    expect(names.map((name) => reasonOf(scene, name))).toEqual(names.map(() => how.reason ?? gate));
    expect(scene.takeRequests().toSorted()).toEqual(
      names.map((name) => `update vaultsecrets ${name}`),
    );
    expect(takeCalls(scene).reads).toBe(how.reads === true ? count : 0);

    await scene.settle(PERIOD);
    expect(scene.takeRequests()).toEqual([]);
    const { reads, lists } = takeCalls(scene);
    expect(reads).toBe(0);
    // Intervals between two lists vary by a tenth.
    expect(lists).toBeLessThan((1.1 * PERIOD) / MINUTE);
    expect(names.map((name) => scene.value("shop", name))).toEqual(
      names.map((name) => `vault ${name}@1`),
    );
  },
);

/** Returns the reason for which a resource does not follow. */
function reasonOf(scene: SimulatedWorld, name: string): string | undefined {
  const ready = scene.condition("Ready", name);
  return ready?.status === "True" ? update(scene, name)?.reason : ready?.reason;
}
