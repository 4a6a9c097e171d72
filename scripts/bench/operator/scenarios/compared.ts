import { setTimeout as sleep } from "node:timers/promises";
import { beginCosts, EXPOSES, LISTS, requestsTo } from "../costs.ts";
import type { KubeObject } from "../kube-writer.ts";
import { residentMiB } from "../process-usage.ts";
import { record, type Scenario, ratio, type Scene } from "../scene.ts";
import { INTERVAL_SECONDS } from "../subject.ts";
import { latenciesOf } from "../../statistics.ts";
import { busiestSecond, busiestWindow } from "../../../../test/lab/busiest-second.ts";
import type { ProxiedRequest } from "../../../../test/lab/real/fault-proxy.ts";

/** B3: nothing changes. */
export const steadyState: Scenario = async (scene, running) => {
  const { stage, subject, namespace, content, settings } = scene;
  stage.progress.note(`${subject.label}: nothing changes for ${settings.seconds} s`);
  await sleep(5_000);
  const end = await beginCosts(stage, subject, namespace, running);
  await sleep(settings.seconds * 1_000);
  const costs = await end(running);
  const intervals = settings.seconds / INTERVAL_SECONDS;
  record(scene, "b3", {
    "vault requests per interval": costs.vaultRequests / intervals,
    "lists per interval": requestsTo(costs, ...LISTS) / intervals,
    "reads of values per interval": requestsTo(costs, ...EXPOSES) / intervals,
    "API writes per interval":
      (costs.targetWrites + costs.statusWrites + costs.eventWrites) / intervals,
    "reads of Secrets per interval": costs.targetReads / intervals,
    "CPU s per 1,000 resources and interval":
      (costs.cpuSeconds * 1_000) / content.names.length / intervals,
  });
  return running;
};

/** B5: the memory of a subject at rest, and with Secrets that no resource refers to. */
export const memory: Scenario = async (scene, running) => {
  const { stage, namespace, settings } = scene;
  await sleep(5_000);
  const { now, anonymous, peak } = await residentMiB(running.pid);
  const heap = await running.liveHeapMiB?.();
  const unrelated = Array.from({ length: settings.unrelated }, (_, index) =>
    unrelatedSecret(index),
  );
  await stage.kube.create(namespace, unrelated);
  await sleep(5_000);
  const more = (await residentMiB(running.pid)).now - now;
  record(scene, "b5", {
    "resident memory, MiB": now,
    "without files, MiB": anonymous,
    "peak since the start, MiB": peak,
    "live heap, MiB": heap,
    [`more with ${settings.unrelated} unrelated Secrets of 100 KB, MiB`]: more,
  });
  return running;
};

const unrelatedSecret = (index: number): KubeObject => ({
  kind: "Secret",
  apiVersion: "v1",
  metadata: { name: `unrelated-${index}` },
  stringData: { value: "x".repeat(100 * 1_024) },
});

const BURST = 1_000;
/** Time within which a change has to arrive, in milliseconds. */
const TIMEOUT_MS = 20 * INTERVAL_SECONDS * 1_000;

/**
 * B4: the time from a change in the vault to the Secret, for one change each second, and for many
 * together.
 */
export const changes: Scenario = async (scene, running) => {
  const { stage, subject, namespace, content, settings } = scene;
  const count = content.names.length;
  const end = await beginCosts(stage, subject, namespace, running);
  const arrivals: Promise<number>[] = [];
  const single = Math.min(settings.seconds, count);
  // Each secret once: a value that is replaced before it arrives never does.
  for (let second = 0; second < single; second += 1) {
    arrivals.push(change(scene, Math.floor((second * count) / single)));
    stage.progress.update(`${subject.label}: change ${second + 1} of ${single}`);
    await sleep(500 + Math.random() * 1_000);
  }
  const { p50, p99, max } = latenciesOf(await Promise.all(arrivals));
  const burst = Math.min(BURST, count);
  stage.progress.note(`${subject.label}: ${burst} changes together`);
  const from = performance.now();
  let stored = from;
  const onStored = (at: number): void => void (stored = Math.max(stored, at));
  await Promise.all(Array.from({ length: burst }, (_, index) => change(scene, index, onStored)));
  const seconds = (performance.now() - from) / 1_000;
  const costs = await end(running);
  const total = single + burst;
  record(scene, "b4", {
    "p50 of single changes, ms": p50,
    "p99 of single changes, ms": p99,
    "max of single changes, ms": max,
    [`time for ${burst} changes together, s`]: seconds,
    "of which until all are stored, s": (stored - from) / 1_000,
    "share of B0, target and status writes of the burst": ratio(
      (2 * burst) / seconds,
      scene.rawRate,
    ),
    "reads of values per change": requestsTo(costs, ...EXPOSES) / total,
    "target writes per change": costs.targetWrites / total,
    "status writes per change": costs.statusWrites / total,
    "events per change": costs.eventWrites / total,
  });
  return running;
};

/** Changes a secret and returns the time in ms from the response of the vault to the Secret. */
async function change(
  { content, targets }: Scene,
  index: number,
  onStored?: (at: number) => void,
): Promise<number> {
  const value = await content.change(index);
  const from = performance.now();
  onStored?.(from);
  return Math.max(0, (await targets.arrival(content.names[index] ?? "", value, TIMEOUT_MS)) - from);
}

const INTERVAL_MS = INTERVAL_SECONDS * 1_000;
/**
 * Intervals that are measured before and after the outage: a request that the vault holds may last
 * for most of one.
 */
const INTERVALS = 3;

/** B6: the vault resets every connection for a while, and then responds again. */
export const outage: Scenario = async (scene, running) => {
  const { stage, subject, content, proxy, targets, settings } = scene;
  stage.progress.note(`${subject.label}: ${INTERVALS} intervals without an outage`);
  const before = await requestsWithin(scene, INTERVALS * INTERVAL_MS);
  stage.progress.note(`${subject.label}: the vault is down for ${settings.outageSeconds} s`);
  proxy.inject(({ reset }) => reset());
  const during = await requestsWithin(scene, settings.outageSeconds * 1_000);
  const value = await content.change(0);
  const from = performance.now();
  scene.restoreVault();
  stage.progress.note(`${subject.label}: ${INTERVALS} intervals after the outage`);
  const arrived = targets.arrival(content.names[0] ?? "", value, 20 * INTERVAL_MS);
  const after = await requestsWithin(scene, INTERVALS * INTERVAL_MS);
  const steady = before.length / INTERVALS;
  const storm = busiestWindow(timesOf(after), INTERVAL_MS);
  record(scene, "b6", {
    "requests per interval, before": steady,
    "requests of the busiest second, before": busiestSecond(timesOf(before)),
    "requests per interval, during the outage":
      (during.length * INTERVAL_SECONDS) / settings.outageSeconds,
    "requests of the busiest interval, during the outage": busiestWindow(
      timesOf(during),
      INTERVAL_MS,
    ),
    "requests of the busiest interval, afterwards": storm,
    "requests of the busiest second, afterwards": busiestSecond(timesOf(after)),
    "storm factor: busiest interval afterwards / before": storm / Math.max(1, steady),
    "time until a change arrives, s": ((await arrived) - from) / 1_000,
    "time until all accounts are served, s": (lastAccountAt(after) - from) / 1_000,
  });
  return running;
};

/** Returns the requests at the vault within the next `ms`. */
async function requestsWithin({ proxy }: Scene, ms: number): Promise<readonly ProxiedRequest[]> {
  const before = proxy.requests.length;
  await sleep(ms);
  return proxy.requests.slice(before);
}

const timesOf = (requests: readonly ProxiedRequest[]): number[] => requests.map(({ at }) => at);

/** Returns the time of the request after which each account that sent any has sent one. */
function lastAccountAt(requests: readonly ProxiedRequest[]): number {
  const firsts = new Map<unknown, number>();
  for (const { body, at } of requests) {
    const { email } = JSON.parse(body.toString()) as { email?: string };
    if (!firsts.has(email)) firsts.set(email, at);
  }
  return Math.max(...firsts.values());
}
