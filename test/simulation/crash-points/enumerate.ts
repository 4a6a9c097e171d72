import { isDeepStrictEqual } from "node:util";
import { type Effect, EffectTap, faultsOf } from "./effect-tap.ts";
import { eventCounts, finalState } from "./final-state.ts";
import type { Scenario } from "./scenario.ts";
import { watchHistory } from "./target-history.ts";
import { World } from "./world.ts";

/** Time in ms for which requests count as effects of a scenario, unless it says otherwise. */
const RECORD_MS = 20_000;
/**
 * Time in ms within which everything has to converge: an interval and twice the longest backoff. A
 * resync is later.
 */
const CONVERGE_MS = 240_000;
/** Time in ms for which a run continues at least, and between two checks. */
const CHECK_MS = 60_000;

interface Run {
  readonly effects: readonly Effect[];
  readonly state: Record<string, unknown>;
  readonly events: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
  readonly fired: boolean;
  /** False if a user took an object over: then the final state differs. */
  readonly isComparable: boolean;
}

export interface Enumeration {
  readonly effects: number;
  readonly cases: number;
  /** `<effect> <fault>: <problem>` for each case that did not end as without the fault. */
  readonly problems: readonly string[];
}

/** Runs a scenario once without a fault, and once for every fault at every effect of that run. */
export async function enumerateFaults(scenario: Scenario): Promise<Enumeration> {
  const golden = await run(scenario, new EffectTap());
  const problems = golden.violations.map((violation) => `without a fault: ${violation}`);
  const cases = golden.effects.flatMap((effect, index) =>
    faultsOf(effect)
      .filter((fault) => fault !== "taken-over" || !scenario.mergesKeys)
      .map((fault) => ({ effect, index, fault })),
  );
  for (const { effect, index, fault } of cases) {
    const isReported =
      ["unavailable", "rejected"].includes(fault) &&
      !scenario.racesCollection &&
      !effect.name.startsWith("create events");
    const found = problemsOf(
      await run(scenario, new EffectTap(index, fault), golden.state),
      golden,
      effect,
      isReported,
    );
    problems.push(...found.map((problem) => `${index} ${effect.name} ${fault}: ${problem}`));
  }
  return { effects: golden.effects.length, cases: cases.length, problems };
}

/**
 * Runs a scenario with at most one fault, until its state equals the state of the run without one
 * or the time is over.
 */
async function run(
  scenario: Scenario,
  tap: EffectTap,
  golden?: Record<string, unknown>,
): Promise<Run> {
  const world = new World(tap, scenario.leaderElect ?? false);
  watchHistory(world, scenario);
  scenario.setUp(world);
  if (!scenario.atStart) {
    world.start();
    await world.clock.advance(scenario.warmUpMs ?? 5_000);
  }
  tap.isRecording = true;
  if (scenario.atStart) world.start();
  let elapsed = 0;
  for (const { atMs = 0, act } of scenario.acts ?? []) {
    await world.clock.advance(atMs - elapsed);
    elapsed = atMs;
    act(world);
  }
  await world.clock.advance((scenario.recordMs ?? RECORD_MS) - elapsed);
  tap.isRecording = false;
  for (let waited = 0; waited < CONVERGE_MS; waited += CHECK_MS) {
    await world.clock.advance(CHECK_MS);
    if (golden && isDeepStrictEqual(finalState(world), golden)) break;
  }
  world.end();
  const { taken } = world;
  if (taken?.isKept === false)
    world.violations.push(`${taken.name}, which a user took over, was changed or removed`);
  return {
    effects: tap.effects,
    state: finalState(world),
    events: eventCounts(world),
    violations: [...world.violations],
    fired: tap.fired,
    isComparable: taken === undefined,
  };
}

/**
 * @param isReported whether every event of the run without the fault is expected: a crash or an
 * unknown outcome may lose one
 */
function problemsOf(found: Run, golden: Run, effect: Effect, isReported: boolean): string[] {
  if (!found.fired) return [`the fault did not happen: the run differs before ${effect.name}`];
  if (!found.isComparable) return [...found.violations];
  const repeated = [...golden.events].filter(
    ([id, count]) => (found.events.get(id) ?? 0) > count + 1,
  );
  const missing = isReported ? [...golden.events.keys()].filter((id) => !found.events.has(id)) : [];
  return [
    ...found.violations,
    ...differences("", found.state, golden.state),
    ...missing.map((id) => `no event ${id}`),
    ...repeated.map(
      ([id, count]) => `${found.events.get(id)} events ${id}, without the fault ${count}`,
    ),
  ];
}

/** Describes where two values differ. */
function differences(path: string, found: unknown, golden: unknown): string[] {
  if (isDeepStrictEqual(found, golden)) return [];
  if (!isObject(found) || !isObject(golden)) {
    return [`${path} is ${JSON.stringify(found)}, without the fault ${JSON.stringify(golden)}`];
  }
  const names = [...new Set([...Object.keys(found), ...Object.keys(golden)])];
  return names.flatMap((name) =>
    differences(path === "" ? name : `${path} ${name}`, found[name], golden[name]),
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
