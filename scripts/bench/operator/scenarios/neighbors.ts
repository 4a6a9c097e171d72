import { setTimeout as sleep } from "node:timers/promises";
import { latenciesOf } from "../../statistics.ts";
import { groupCpuSeconds } from "../process-usage.ts";
import type { Samples } from "../samples.ts";
import { SecretWatch } from "../secret-watch.ts";
import { protect, Stage, workOf } from "../stage.ts";
import { failing, hot, slow } from "./bad-neighbors.ts";
import {
  type Arm,
  emailOf,
  type Healthy,
  healthyAccounts,
  openHealthy,
} from "./neighbor-scenario.ts";

/** Number of measurements with and without each neighbor, in turn. */
interface Settings {
  readonly seconds: number;
  readonly repeats: number;
  /** The neighbors to measure. */
  readonly neighbors: readonly string[];
  /** Number of secrets of the failing neighbor. */
  readonly failing: number;
}

interface Measured {
  readonly p99: number;
  readonly cpu: number;
  /** CPU time of the API server, etcd and the controller manager in seconds. */
  readonly planeCpu: number;
  /** `undefined` if the neighbor causes no events. */
  readonly reconcilesPerEvent: number | undefined;
}

/**
 * B8: changes of healthy resources with and without a bad neighbor, in turn; the operator is
 * restarted for each.
 */
export async function measureNeighbors(samples: Samples, settings: Settings): Promise<void> {
  const neighbors = new Map(Object.entries({ slow, failing: failing(settings.failing), hot }));
  for (const name of settings.neighbors) {
    const neighbor = neighbors.get(name);
    if (neighbor === undefined) continue;
    const accounts = [...healthyAccounts, ...neighbor.accounts];
    await using stage = await Stage.start(accounts.map(emailOf));
    const healthy = await openHealthy(stage);
    await using owned = new AsyncDisposableStack();
    const arms = await neighbor.open(stage, healthy, owned);
    await measureArms(samples, { stage, healthy, arms }, settings);
  }
}

async function measureArms(
  samples: Samples,
  { stage, healthy, arms }: { stage: Stage; healthy: Healthy; arms: readonly Arm[] },
  { seconds, repeats }: Settings,
): Promise<void> {
  await using watch = await SecretWatch.start(stage.plane.access, healthy.namespace);
  const connections = healthy.connections.length;
  const resources = healthy.connections.reduce((sum, { names }) => sum + names.length, 0);
  // The first round is a warm-up.
  for (let repeat = 0; repeat <= repeats; repeat += 1) {
    let alone: number | undefined;
    for (const arm of repeat === 0 ? arms.slice(0, 1) : arms) {
      const measured = await measureArm(stage, healthy, watch, arm, seconds);
      const { p99, cpu, planeCpu, reconcilesPerEvent } = measured;
      const round = repeat === 0 ? "warm-up" : `round ${repeat} of ${repeats}`;
      stage.progress.note(`${round}: ${arm.label}: p99 ${p99.toFixed(0)} ms`);
      if (repeat === 0) continue;
      alone ??= p99;
      samples.add(
        { scenario: "b8", subject: "vaultsync", resources, connections },
        {
          [`${arm.label}: p99, ms`]: p99,
          [`${arm.label}: p99 by that without`]: p99 / alone,
          [`${arm.label}: CPU s`]: cpu,
          [`${arm.label}: CPU s of the control plane`]: planeCpu,
          [`${arm.label}: reconciles per edit`]:
            arm.namespaces.length > 1 ? reconcilesPerEvent : undefined,
        },
      );
    }
  }
}

async function measureArm(
  stage: Stage,
  healthy: Healthy,
  watch: SecretWatch,
  arm: Arm,
  seconds: number,
): Promise<Measured> {
  await using operator = await stage.operator(arm.namespaces);
  await healthy.isReady(operator);
  await using neighbor = await arm.start?.();
  const [work, events] = [await workOf(operator, 0), neighbor?.events?.()];
  const planeBefore = await groupCpuSeconds(stage.plane.processGroup);
  const latencies = await changeHealthy(healthy, watch, seconds);
  const after = await workOf(operator, 0);
  const caused = after.reconciles - work.reconciles - latencies.length;
  return {
    p99: latenciesOf(latencies).p99,
    cpu: after.cpuSeconds - work.cpuSeconds,
    planeCpu: (await groupCpuSeconds(stage.plane.processGroup)) - planeBefore,
    reconcilesPerEvent:
      events === undefined ? undefined : caused / ((neighbor?.events?.() ?? 0) - events),
  };
}

/**
 * Changes one secret of each connection at random times, more than a second apart, until the time
 * is over.
 */
async function changeHealthy(
  healthy: Healthy,
  watch: SecretWatch,
  seconds: number,
): Promise<number[]> {
  const samples: number[] = [];
  const until = performance.now() + seconds * 1_000;
  const work = async ({ client, names }: (typeof healthy.connections)[number]): Promise<void> => {
    await sleep(Math.random() * 1_100);
    for (let turn = 0; performance.now() < until; turn += 1) {
      const secret = names[turn % names.length] ?? "";
      const value = `${secret} ${Math.round(performance.timeOrigin + performance.now())}`;
      const arrival = watch.arrival(secret, value, 60_000);
      await protect(client, secret, value);
      const from = performance.now();
      samples.push(Math.max(0, (await arrival) - from));
      await sleep(1_100 + Math.random() * 300);
    }
  };
  await Promise.all(healthy.connections.map(work));
  return samples;
}
