import { setTimeout as sleep } from "node:timers/promises";
import { beginCosts, EXPOSES, LISTS, requestsTo } from "../costs.ts";
import type { KubeObject } from "../kube-writer.ts";
import { residentMiB } from "../process-usage.ts";
import { record, type Scenario } from "../scene.ts";
import { INTERVAL_SECONDS } from "../subject.ts";

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
