import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../../../test/lab/clock/wait-until.ts";
import type { OperatorProcess } from "../../../../test/lab/real/processes/operator-process.ts";
import { record, type Scenario, type Scene } from "../scene.ts";
import { workOf } from "../stage.ts";

const CHANGES_PER_SECOND = 5;
const SUSPENDED_MS = 20_000;

/** The ends of a leader. */
const ends = {
  SIGTERM: (leader: OperatorProcess) => leader.stop("SIGTERM"),
  "kill -9": (leader: OperatorProcess) => leader.stop("SIGKILL"),
  "SIGSTOP for 20 s": async (leader: OperatorProcess) => {
    leader.signal("SIGSTOP");
    await sleep(SUSPENDED_MS);
    leader.signal("SIGCONT");
  },
};

/**
 * B7: of two replicas, the leader ends while secrets change, and the other one takes over. Only for
 * this operator.
 */
export const failover: Scenario = async (scene, running) => {
  const { stage, namespace, settings } = scene;
  if (scene.subject.label !== "vaultsync") return running;
  await running.stop("SIGTERM");
  for (const [what, end] of Object.entries(ends)) {
    const gaps: number[] = [];
    for (let round = 1; round <= settings.rounds; round += 1) {
      stage.progress.note(`${what} of the leader, ${round} of ${settings.rounds}`);
      gaps.push(await measureTakeover(scene, what, end));
    }
    record(scene, "b7", { [`${what}: longest gap of all rounds, s`]: Math.max(...gaps) });
  }
  return scene.subject.start(stage, namespace);
};

/**
 * Ends a leader next to a standby, records what follows, and returns the longest time in s between
 * two target writes.
 */
async function measureTakeover(
  scene: Scene,
  what: string,
  end: (leader: OperatorProcess) => Promise<unknown>,
): Promise<number> {
  const { stage, namespace, targets, content } = scene;
  await using leader = await stage.replica(namespace);
  await leads(leader);
  await using standby = await stage.replica(namespace);
  await logs(standby, "caches synced");
  const isQuiet = async (): Promise<boolean> =>
    (await workOf(leader, content.names.length, content.connections)).isQuiet;
  await waitUntil("the leader has verified all resources", isQuiet, 120_000, 250);
  const [stale, duplicate] = [targets.regressions.length, targets.repetitions.length];
  await using _changing = changeRepeatedly(scene);
  await sleep(3_000);
  const writes = watchWrites(scene);
  const endedAt = performance.now();
  const ended = end(leader);
  await leads(standby);
  await ended;
  await sleep(5_000);
  const times = writes();
  const gap = Math.max(...times.map((at, index) => at - (times[index - 1] ?? at))) / 1_000;
  const leaseAt = timeOf(standby, "acquired lease");
  record(scene, "b7", {
    [`${what}: longest gap between two target writes, s`]: gap,
    [`${what}: until the other replica has the Lease, s`]: (leaseAt - endedAt) / 1_000,
    [`${what}: from the Lease to the next target write, s`]:
      ((times.find((at) => at > leaseAt) ?? leaseAt) - leaseAt) / 1_000,
    [`${what}: stale writes`]: targets.regressions.length - stale,
    [`${what}: duplicate writes`]: targets.repetitions.length - duplicate,
  });
  return gap;
}

const logs = (operator: OperatorProcess, message: string): Promise<boolean> =>
  waitUntil(
    `a replica logs "${message}"`,
    () => operator.log.includes(`"msg":"${message}"`),
    60_000,
    50,
  );
const leads = (operator: OperatorProcess): Promise<boolean> => logs(operator, "starting workers");

/** Returns the time of a log line in monotonic ms of this process. */
function timeOf(operator: OperatorProcess, message: string): number {
  const line = operator.log.split("\n").find((each) => each.includes(`"msg":"${message}"`)) ?? "{}";
  const { time } = JSON.parse(line) as { time?: string };
  return Date.parse(time ?? "") - performance.timeOrigin;
}

/**
 * Changes secrets of all connections in turn, until it is disposed. A list is read at most once per
 * second and connection.
 */
function changeRepeatedly({ content }: Scene): AsyncDisposable {
  const ended = new AbortController();
  const work = async (): Promise<void> => {
    for (let turn = 0; !ended.signal.aborted; turn += 1) {
      await content.change(turn % content.names.length);
      await sleep(1_000 / CHANGES_PER_SECOND);
    }
  };
  const working = work();
  return {
    async [Symbol.asyncDispose]() {
      ended.abort();
      await working;
    },
  };
}

/**
 * Returns a function that ends the watch and returns the times of target writes since now, in
 * monotonic ms; the first is now.
 */
function watchWrites({ targets }: Scene): () => readonly number[] {
  const times = [performance.now()];
  const timer = setInterval(() => {
    if (targets.changedAt > (times.at(-1) ?? 0)) times.push(targets.changedAt);
  }, 10);
  return () => {
    clearInterval(timer);
    times.push(performance.now());
    return times;
  };
}
