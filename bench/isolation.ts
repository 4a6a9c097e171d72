import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { latenciesOf, latencyCells, latencyColumns } from "./operator/latencies.ts";
import { openScenario, scenarioNames, type Arm } from "./operator/neighbors.ts";
import { SecretWatch } from "./operator/secret-watch.ts";
import { workOf } from "./operator/stage.ts";
import { saveResult } from "./report.ts";
import { spreadOf } from "./statistics.ts";
import { table } from "./table.ts";

const { values } = parseArgs({
  options: {
    scenario: { type: "string", multiple: true, default: [...scenarioNames] },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "20" },
    help: { type: "boolean" },
  },
});
const scenarios = scenarioNames.filter((name) => values.scenario.includes(name));
if (values.help === true || scenarios.length === 0) {
  process.stdout.write(`Measure how much a bad neighbor delays changes of other resources.

npm run bench:isolation -- [--scenario slow|unreadable|hot]… [--rounds 3] [--seconds 20]

  --scenario  slow: 300 resources of a vault that responds in 8 s, all of them changed, next to 300 others;
              unreadable: 5 of 100 secrets of a connection respond with 500;
              hot: 64 resources whose spec is changed 100 times per second next to 300 others
              (default: all, each with its own control plane)
  --rounds    number of measurements with and without the neighbor, in turn (default 3)
  --seconds   duration of each (default 20)
`);
  process.exit(values.help === true ? 0 : 2);
}
const settings = { rounds: Number(values.rounds), seconds: Number(values.seconds) };

interface Round {
  readonly samples: readonly number[];
  readonly lists: number;
  /** CPU time of the operator during the round, in seconds. */
  readonly cpuSeconds: number;
}

for (const name of scenarios) {
  await using scenario = await openScenario(name);
  const { stage, healthy, arms } = scenario;
  await using watch = await SecretWatch.start(stage.plane.access, healthy.namespace);
  let changes = 0;

  /** Changes one secret of each connection at random times, more than a second apart, until the time is over. */
  const changeHealthy = async (): Promise<number[]> => {
    const samples: number[] = [];
    const until = performance.now() + settings.seconds * 1_000;
    const work = async ({ client, names }: (typeof healthy.connections)[number]): Promise<void> => {
      await sleep(Math.random() * 1_100);
      for (let turn = 0; performance.now() < until; turn += 1) {
        const secret = names[turn % names.length] ?? "";
        const value = `${secret} ${(changes += 1)}`;
        const arrival = watch.arrival(secret, value, 60_000);
        await client.protect(secret, value);
        const from = performance.now();
        samples.push(Math.max(0, (await arrival) - from));
        await sleep(1_100 + Math.random() * 300);
      }
    };
    await Promise.all(healthy.connections.map(work));
    return samples;
  };
  const run = async (arm: Arm): Promise<Round> => {
    await using operator = await stage.operator(arm.namespaces);
    await healthy.isReady(operator);
    await using _neighbor = await arm.start?.();
    const before = await stage.vaultRequests();
    const { cpuSeconds } = await workOf(operator, 0);
    const samples = await changeHealthy();
    const after = await stage.vaultRequests();
    const cpu = (await workOf(operator, 0)).cpuSeconds - cpuSeconds;
    const lists = ["list_no_dup 200", "list_no_dup 304"].map((key) => (after.get(key) ?? 0) - (before.get(key) ?? 0));
    return { samples, lists: lists.reduce((sum, count) => sum + count, 0), cpuSeconds: cpu };
  };

  const rounds = new Map<string, Round[]>(arms.map(({ label }) => [label, []]));
  for (let round = 0; round <= settings.rounds; round += 1) {
    for (const arm of round === 0 ? arms.slice(0, 1) : arms) {
      const result = await run(arm);
      if (round > 0) rounds.get(arm.label)?.push(result);
      const p99 = latenciesOf(result.samples).p99.toFixed(0);
      stage.progress.note(`${round === 0 ? "warm-up" : `round ${round} of ${settings.rounds}`}: ${arm.label}: p99 ${p99} ms`);
    }
  }
  const p99Of = (round: Round): number => latenciesOf(round.samples).p99;
  const baseline = rounds.get(arms[0]?.label ?? "") ?? [];
  const result = [...rounds].map(([label, own]) => {
    const samples = own.flatMap((round) => round.samples);
    const latencies = latenciesOf(samples);
    return {
      label,
      latencies,
      lists: own.map((round) => round.lists),
      cpuSeconds: own.map((round) => round.cpuSeconds),
      ratio: latencies.p99 / latenciesOf(baseline.flatMap((round) => round.samples)).p99,
      ratios: spreadOf(own.map((round, index) => p99Of(round) / p99Of(baseline[index] ?? round))),
      rounds: own,
    };
  });
  process.stdout.write(
    table([
      [name, ...latencyColumns, "lists per round", "CPU s", "p99 ratio", "by round", "±IQR"],
      ...result.map(({ label, latencies, lists, cpuSeconds, ratio, ratios }) => [
        label,
        ...latencyCells(latencies),
        lists.join(" "),
        cpuSeconds.map((value) => value.toFixed(1)).join(" "),
        ratio.toFixed(2),
        ratios.median.toFixed(2),
        ratios.iqr.toFixed(2),
      ]),
    ]),
  );
  await saveResult(`isolation-${name}`, settings, result);
}
