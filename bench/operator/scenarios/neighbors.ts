import { setTimeout as sleep } from "node:timers/promises";
import { latenciesOf } from "../latencies.ts";
import type { Samples } from "../samples.ts";
import { SecretWatch } from "../secret-watch.ts";
import { workOf } from "../stage.ts";
import { type Arm, openScenario, type NeighborScenario, scenarioNames } from "./neighbor-arms.ts";

/** Number of measurements with and without each neighbor, in turn. */
interface Settings {
  readonly seconds: number;
  readonly repeats: number;
}

/** B8: changes of healthy resources with and without a bad neighbor, in turn; the operator is restarted for each. */
export async function measureNeighbors(samples: Samples, { seconds, repeats }: Settings): Promise<void> {
  for (const name of scenarioNames) {
    await using scenario = await openScenario(name);
    const { stage, healthy, arms } = scenario;
    await using watch = await SecretWatch.start(stage.plane.access, healthy.namespace);
    // The first round is a warm-up.
    for (let repeat = 0; repeat <= repeats; repeat += 1) {
      let alone: number | undefined;
      for (const arm of repeat === 0 ? arms.slice(0, 1) : arms) {
        const { p99, cpu } = await measureArm(scenario, watch, arm, seconds);
        stage.progress.note(
          `${repeat === 0 ? "warm-up" : `round ${repeat} of ${repeats}`}: ${arm.label}: p99 ${p99.toFixed(0)} ms`,
        );
        if (repeat === 0) continue;
        alone ??= p99;
        const connections = healthy.connections.length;
        const resources = healthy.connections.reduce((sum, { names }) => sum + names.length, 0);
        samples.add(
          { scenario: "b8", subject: "vaultsync", resources, connections },
          { [`${arm.label}: p99, ms`]: p99, [`${arm.label}: p99 by that without`]: p99 / alone, [`${arm.label}: CPU s`]: cpu },
        );
      }
    }
  }
}

async function measureArm(
  { stage, healthy }: NeighborScenario,
  watch: SecretWatch,
  arm: Arm,
  seconds: number,
): Promise<{ readonly p99: number; readonly cpu: number }> {
  await using operator = await stage.operator(arm.namespaces);
  await healthy.isReady(operator);
  await using _neighbor = await arm.start?.();
  const { cpuSeconds } = await workOf(operator, 0);
  const { p99 } = latenciesOf(await changeHealthy(healthy, watch, seconds));
  return { p99, cpu: (await workOf(operator, 0)).cpuSeconds - cpuSeconds };
}

/** Changes one secret of each connection at random times, more than a second apart, until the time is over. */
async function changeHealthy(healthy: NeighborScenario["healthy"], watch: SecretWatch, seconds: number): Promise<number[]> {
  const samples: number[] = [];
  const until = performance.now() + seconds * 1_000;
  const work = async ({ client, names }: (typeof healthy.connections)[number]): Promise<void> => {
    await sleep(Math.random() * 1_100);
    for (let turn = 0; performance.now() < until; turn += 1) {
      const secret = names[turn % names.length] ?? "";
      const value = `${secret} ${Math.round(performance.timeOrigin + performance.now())}`;
      const arrival = watch.arrival(secret, value, 60_000);
      await client.protect(secret, value);
      const from = performance.now();
      samples.push(Math.max(0, (await arrival) - from));
      await sleep(1_100 + Math.random() * 300);
    }
  };
  await Promise.all(healthy.connections.map(work));
  return samples;
}
