import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../../../test/lab/clock/wait-until.ts";
import { ConditionWatch } from "../condition-watch.ts";
import { beginCosts, type Costs, EXPOSES, LISTS, requestsTo } from "../costs.ts";
import { record, type Scenario, type Scene } from "../scene.ts";
import { forEach } from "../stage.ts";
import { INTERVAL_SECONDS, type RunningSubject } from "../subject.ts";

const MINUTE_MS = 60_000;
/** Time within which all targets have to follow, in milliseconds. */
const TIMEOUT_MS = 1_800_000;
/** A measurement ends so long before the windows open, in milliseconds. */
const MARGIN_MS = 2_000;

/**
 * B9: new versions of all secrets, first without windows, then while all resources have a closed
 * window that opens for all of them together.
 */
export const windows: Scenario = async (scene, running) => {
  const { stage, subject, namespace, content, settings } = scene;
  const { setWindows } = subject;
  if (setWindows === undefined) return running;
  const count = content.names.length;
  stage.progress.note(`${subject.label}: ${count} changes without windows`);
  const open = await changeAll(scene);
  // Specs and their statuses, then versions and theirs are written before the windows open: each
  // takes at most as long as the change did.
  const leadMs = 2 * open.seconds * 1_000 + settings.seconds * 1_000 + MINUTE_MS;
  const opensAt = Math.ceil((Date.now() + leadMs) / MINUTE_MS) * MINUTE_MS;
  await setWindows(stage, namespace, content.names, [windowAt(opensAt)]);
  const noticed = await changeWhileClosed(scene, running);
  const closed = await measureClosed(scene, running, opensAt);
  const opened = await measureOpening(scene, running, opensAt);
  const intervals = closed.seconds / INTERVAL_SECONDS;
  record(scene, "b9", {
    "time for all changes without windows, s": open.seconds,
    "of which until all are stored, s": open.storedSeconds,
    "closed: target writes per change": noticed.targetWrites / count,
    "closed: status writes per change": noticed.statusWrites / count,
    "closed: reads of values per change": requestsTo(noticed, ...EXPOSES) / count,
    "closed, later: API writes per interval": apiWrites(closed.costs) / intervals,
    "closed, later: reads of values per interval": requestsTo(closed.costs, ...EXPOSES) / intervals,
    "closed, later: lists per interval": requestsTo(closed.costs, ...LISTS) / intervals,
    "closed, later: CPU s per 1,000 resources and interval":
      (closed.costs.cpuSeconds * 1_000) / count / intervals,
    "time from the opening until all have followed, s": opened.seconds,
    "of which until the first has, s": opened.firstSeconds,
    "by the time without windows": opened.seconds / open.seconds,
    "opening: target writes per change": opened.costs.targetWrites / count,
    "opening: status writes per change": opened.costs.statusWrites / count,
    "opening: reads of values per change": requestsTo(opened.costs, ...EXPOSES) / count,
    "opening: lists per connection": requestsTo(opened.costs, ...LISTS) / content.connections,
  });
  return running;
};

const apiWrites = ({ targetWrites, statusWrites, eventWrites }: Costs): number =>
  targetWrites + statusWrites + eventWrites;

/** Returns a window that opens at a full minute, once a day. */
function windowAt(ms: number): object {
  const at = new Date(ms);
  const schedule = `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`;
  return { schedule, duration: "12h", timeZone: "Etc/UTC" };
}

/** Stores a new version of each secret. */
async function storeAll({ stage, content }: Scene): Promise<void> {
  const indexes = new Map(content.names.map((name, index) => [name, index]));
  await forEach(content.names, async (name) => {
    await content.change(indexes.get(name) ?? 0);
  });
  stage.progress.note(`${content.names.length} new versions are stored`);
}

/** Waits until all Secrets have the values of the vault. */
async function untilFollowed({ stage, subject, content, targets }: Scene): Promise<void> {
  const isDone = (): boolean => targets.countCorrect(content.values) === content.names.length;
  await waitUntil(`${subject.label}: all Secrets are current`, isDone, TIMEOUT_MS, 200);
  stage.progress.note(`${content.names.length} Secrets have the new versions`);
}

/** Changes all secrets. Returns the time in seconds until all Secrets have followed. */
async function changeAll(scene: Scene): Promise<{ seconds: number; storedSeconds: number }> {
  const from = performance.now();
  await storeAll(scene);
  const storedSeconds = (performance.now() - from) / 1_000;
  await untilFollowed(scene);
  return { seconds: (scene.targets.changedAt - from) / 1_000, storedSeconds };
}

/** Changes all secrets and waits until each resource says that it waits. Returns the costs. */
async function changeWhileClosed(scene: Scene, running: RunningSubject): Promise<Costs> {
  const { stage, subject, namespace, content } = scene;
  await using waiting = await ConditionWatch.start(
    stage.plane.access,
    subject.kind,
    namespace,
    "UpdateAvailable",
  );
  const end = await beginCosts(stage, subject, namespace, running);
  await storeAll(scene);
  const isDone = (): boolean => waiting.count === content.names.length;
  await waitUntil(`${subject.label}: all resources wait`, isDone, TIMEOUT_MS, 200);
  stage.progress.note(`${content.names.length} resources wait for their windows`);
  return end(running);
}

/**
 * Returns the costs until shortly before the windows open. @throws Error if that is sooner than
 * the settings request
 */
async function measureClosed(
  { stage, subject, namespace, settings }: Scene,
  running: RunningSubject,
  opensAt: number,
): Promise<{ costs: Costs; seconds: number }> {
  const seconds = (opensAt - MARGIN_MS - Date.now()) / 1_000;
  if (seconds < settings.seconds)
    throw new Error(
      `the windows open in ${seconds.toFixed(0)} s, expected at least ${settings.seconds} s: the machine is too busy`,
    );
  stage.progress.note(`${subject.label}: the windows open in ${seconds.toFixed(0)} s`);
  const end = await beginCosts(stage, subject, namespace, running);
  await sleep(seconds * 1_000);
  return { costs: await end(running), seconds };
}

/** Returns the costs of the opening, and the times in seconds until Secrets have followed. */
async function measureOpening(
  scene: Scene,
  running: RunningSubject,
  opensAt: number,
): Promise<{ costs: Costs; seconds: number; firstSeconds: number }> {
  const { stage, subject, namespace, targets } = scene;
  const end = await beginCosts(stage, subject, namespace, running);
  const from = performance.now() + opensAt - Date.now();
  const before = targets.changedAt;
  const isFirst = (): boolean => targets.changedAt > before;
  await waitUntil(`${subject.label}: the windows open`, isFirst, TIMEOUT_MS, 5);
  const firstSeconds = (targets.changedAt - from) / 1_000;
  await untilFollowed(scene);
  const seconds = (targets.changedAt - from) / 1_000;
  return { costs: await end(running), seconds, firstSeconds };
}
