import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../../../test/lab/clock/wait-until.ts";
import { beginCosts, EXPOSES, LISTS, requestsTo } from "../costs.ts";
import { record, ratio, type Scenario, type Scene } from "../scene.ts";
import type { RunningSubject } from "../subject.ts";

/** Time in which a start has to end, in milliseconds. */
const TIMEOUT_MS = 1_800_000;

/**
 * B1: starts a subject whose resources were never synced, until all are Ready and all targets have
 * the values of the vault.
 */
export async function coldStart(scene: Scene): Promise<RunningSubject> {
  const { stage, subject, namespace, content, targets, ready, rawRate } = scene;
  const resources = content.names.length;
  const end = await beginCosts(stage, subject, namespace);
  const from = performance.now();
  const running = await subject.start(stage, namespace);
  const isDone = (): boolean => {
    stage.progress.update(`${subject.label}: ${ready.count} of ${resources} are Ready`);
    return ready.count === resources && targets.countCorrect(content.values) === resources;
  };
  await waitUntil(`${subject.label}: all are in sync`, isDone, TIMEOUT_MS, 200);
  const seconds = (Math.max(ready.changedAt, targets.changedAt) - from) / 1_000;
  const costs = await end(running);
  const writes = costs.targetWrites + costs.statusWrites;
  const allCpuSeconds = costs.cpuSeconds + costs.planeCpuSeconds + costs.aroundCpuSeconds;
  scene.coldStart.rate = writes / seconds;
  record(scene, "b1", {
    "time until all are in sync, s": seconds,
    "target and status writes/s": writes / seconds,
    "share of B0": ratio(writes / seconds, rawRate),
    "target writes per resource": costs.targetWrites / resources,
    "status writes per resource": costs.statusWrites / resources,
    "events per resource": costs.eventWrites / resources,
    "reads of Secrets per resource": costs.targetReads / resources,
    "reads of values per resource": requestsTo(costs, ...EXPOSES) / resources,
    "KiB read per resource": costs.transferred.read / 1024 / resources,
    "KiB written per resource": costs.transferred.written / 1024 / resources,
    "CPU s per 1,000 resources": (costs.cpuSeconds * 1_000) / resources,
    "CPU s of the control plane per 1,000 writes": (costs.planeCpuSeconds * 1_000) / writes,
    "CPU s of vault and benchmark per 1,000 resources":
      (costs.aroundCpuSeconds * 1_000) / resources,
    "cores in use": allCpuSeconds / seconds,
  });
  return running;
}

/** B2: kills and starts a subject whose resources are all in sync. */
export const warmRestart: Scenario = async (scene, before) => {
  const { stage, subject, namespace, content, settings } = scene;
  await before.stop("SIGKILL");
  const end = await beginCosts(stage, subject, namespace);
  const from = performance.now();
  const running = await subject.start(stage, namespace);
  const { isQuiet } = running;
  const started = performance.now();
  if (isQuiet !== undefined)
    await waitUntil("all are verified", () => isQuiet(content), TIMEOUT_MS, 200);
  const seconds = (performance.now() - from) / 1_000;
  await sleep(Math.max(0, started + settings.seconds * 1_000 - performance.now()));
  const costs = await end(running);
  record(scene, "b2", {
    "time until all are verified, s": isQuiet === undefined ? undefined : seconds,
    "target writes": costs.targetWrites,
    "status writes": costs.statusWrites,
    "reads of Secrets": costs.targetReads,
    "reads of values": requestsTo(costs, ...EXPOSES),
    lists: requestsTo(costs, ...LISTS),
  });
  return running;
};
