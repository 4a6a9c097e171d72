import { setTimeout as sleep } from "node:timers/promises";
import { beginCosts, EXPOSES, requestsTo } from "../costs.ts";
import { latenciesOf } from "../../statistics.ts";
import { ratio, record, type Scenario, type Scene } from "../scene.ts";
import { INTERVAL_SECONDS } from "../subject.ts";

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
