import { quantile } from "../statistics.ts";
import type { AttackCase, Probe, Site } from "./attack-case.ts";
import type { Served } from "./ordinary-clients.ts";
import type { Scene } from "./scene.ts";
import { ServerMeter, type ServerLoad } from "./server-load.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../src/lib/errors.ts";

/** The prepared probe of a case. */
export interface OpenProbe {
  readonly name: string;
  readonly intervalMs: number;
  readonly request: () => Promise<string>;
}

export async function openProbe({ name, intervalMs, open }: Probe, site: Site): Promise<OpenProbe> {
  return { name, intervalMs, request: await open(site) };
}

/**
 * Sends requests at a fixed rate, whether or not earlier ones have a response, and adds what their
 * sender experiences.
 */
async function runProbe(
  { intervalMs, request }: OpenProbe,
  forMs: number,
  { latencies, errors }: Served,
): Promise<void> {
  const sent: Promise<void>[] = [];
  const send = async (due: number): Promise<void> => {
    const outcome = await request().catch(messageOf);
    latencies.push(performance.now() - due);
    if (outcome !== "200" && outcome !== "304") errors[outcome] = (errors[outcome] ?? 0) + 1;
  };
  const start = performance.now();
  for (let due = start; due < start + forMs; due += intervalMs) {
    await sleep(Math.max(0, due - performance.now()));
    sent.push(send(due));
  }
  await Promise.all(sent);
}

/** Factor by which an attack may increase the p99 of other clients. */
const GOAL = 5;
/** CPU time of one turn of the server's event loop, in ms, at most. */
const TURN_MS = 100;
/** Limit of the container of deploy/vault, in MiB. */
const MEMORY_MIB = 512;

export interface Rounds {
  readonly rounds: number;
  readonly seconds: number;
  readonly progress: (text: string) => void;
}

/**
 * Experience of the ordinary clients and of the probes in all rounds of one kind, and the server's
 * load.
 */
interface Side {
  readonly served: Served;
  readonly probed: Served;
  readonly loads: ServerLoad[];
}

const newServed = (): Served => ({ latencies: [], errors: {} });
const newSide = (): Side => ({ served: newServed(), probed: newServed(), loads: [] });
const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((sum, number) => sum + number, 0);

function latenciesOf({ latencies, errors }: Served) {
  const ascending = latencies.toSorted((a, b) => a - b);
  return {
    requests: latencies.length,
    p50: quantile(ascending, 0.5),
    p99: quantile(ascending, 0.99),
    max: ascending.at(-1) ?? 0,
    errors,
  };
}

function summaryOf({ served, probed, loads }: Side, forMs: number) {
  return {
    clients: latenciesOf(served),
    probes: latenciesOf(probed),
    /** CPU time of the server in percent of one core. */
    cpu: (sumOf(loads.map(({ cpuMs }) => cpuMs)) / (loads.length * forMs)) * 100,
    longestTurn: Math.max(...loads.map(({ turnMs }) => turnMs)),
    delayP99: Math.max(...loads.map(({ delayP99Ms }) => delayP99Ms)),
  };
}

/** The result of one case, or of several together. */
export interface CaseResult {
  readonly name: string;
  readonly alone: ReturnType<typeof summaryOf>;
  readonly attacked: ReturnType<typeof summaryOf>;
  /** p99 next to the attack divided by that without it: of the clients, and of the probe. */
  readonly ratio: number;
  readonly probeRatio: number | undefined;
  readonly attacks: Readonly<Record<string, number>>;
  readonly peakMib: number;
  readonly logBytesPerSecond: number;
  readonly misses: readonly string[];
}

/** Runs the clients and the probes. */
async function measureSide(
  scene: Scene,
  meter: ServerMeter,
  { served, probed, loads }: Side,
  forMs: number,
): Promise<void> {
  const all = () =>
    Promise.all([
      scene.clients.run(forMs, served),
      ...scene.probes.map((probe) => runProbe(probe, forMs, probed)),
    ]);
  const [load] = await meter.during(all);
  loads.push(load);
}

function errorsOf(kind: string, counts: Readonly<Record<string, number>>): string[] {
  return Object.entries(counts).map(([outcome, count]) => `${kind}: ${count} × ${outcome}`);
}

function missesOf(result: Omit<CaseResult, "misses">): string[] {
  const { ratio, probeRatio, attacked, peakMib } = result;
  return [
    ...(ratio < GOAL ? [] : [`p99 of the clients × ${ratio.toFixed(1)}`]),
    ...(probeRatio === undefined || probeRatio < GOAL
      ? []
      : [`p99 of the probe × ${probeRatio.toFixed(1)}`]),
    ...errorsOf("clients", attacked.clients.errors),
    ...errorsOf("probe", attacked.probes.errors),
    ...(attacked.longestTurn < TURN_MS
      ? []
      : [`a turn of ${attacked.longestTurn.toFixed(0)} ms of CPU`]),
    ...(peakMib < MEMORY_MIB ? [] : [`memory ${peakMib.toFixed(0)} MiB`]),
  ];
}

function sumOutcomes(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const each of all)
    for (const [outcome, count] of Object.entries(each)) sum[outcome] = (sum[outcome] ?? 0) + count;
  return sum;
}

/** Measures cases together: each round first without, then with the attack. */
export async function measureCases(
  scene: Scene,
  attacks: readonly AttackCase[],
  name: string,
  settings: Rounds,
): Promise<CaseResult> {
  const { rounds, seconds, progress } = settings;
  const forMs = seconds * 1000;
  const meter = new ServerMeter(scene.server);
  const [before, during] = [newSide(), newSide()];
  const outcomes = new Map<string, Readonly<Record<string, number>>[]>(
    attacks.map((each) => [each.name, []]),
  );
  let logBytes = 0;
  // Warms up.
  await scene.clients.run(forMs, newServed());
  for (let round = 1; round <= rounds; round += 1) {
    progress(`${name}: round ${round} of ${rounds}, prepared`);
    await scene.attacker.arm();
    progress(`${name}: round ${round} of ${rounds}, without the attack`);
    const from = await scene.auditBytes();
    await measureSide(scene, meter, before, forMs);
    const ordinaryBytes = (await scene.auditBytes()) - from;
    progress(`${name}: round ${round} of ${rounds}, with the attack`);
    const [grown, sent] = await scene.attacker.during(round === rounds, async () => {
      const start = await scene.auditBytes();
      await measureSide(scene, meter, during, forMs);
      return (await scene.auditBytes()) - start;
    });
    logBytes += grown - ordinaryBytes;
    for (const [each, counts] of Object.entries(sent)) outcomes.get(each)?.push(counts);
  }
  const [alone, attacked] = [summaryOf(before, forMs), summaryOf(during, forMs)];
  const logBytesPerSecond = logBytes / (rounds * seconds);
  const result = {
    name,
    alone,
    attacked,
    ratio: attacked.clients.p99 / alone.clients.p99,
    probeRatio: scene.probes.length === 0 ? undefined : attacked.probes.p99 / alone.probes.p99,
    attacks: sumOutcomes([...outcomes.values()].flat()),
    peakMib: (await scene.server.peakMemory()) / 1024 ** 2,
    logBytesPerSecond,
  };
  // Together, the log has the lines of all.
  const isAlone = attacks.length === 1;
  const own = attacks.flatMap(({ name: each, misses }) =>
    (
      misses?.({
        outcomes: sumOutcomes(outcomes.get(each) ?? []),
        logBytesPerSecond: isAlone ? logBytesPerSecond : 0,
      }) ?? []
    ).map((missed) => (isAlone ? missed : `${each}: ${missed}`)),
  );
  return { ...result, misses: [...missesOf(result), ...own] };
}
