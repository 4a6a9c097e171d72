import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../../../test/support/clock/wait-until.ts";
import type { OperatorProcess } from "../../../test/support/processes/operator-process.ts";
import { record, type Scenario, type Scene } from "../scene.ts";

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

/** B7: of two replicas, the leader ends while secrets change, and the other one takes over. Only for this operator. */
export const failover: Scenario = async (scene, running) => {
  const { stage, namespace, targets } = scene;
  if (scene.subject.label !== "vaultsync") return running;
  await running.stop("SIGTERM");
  for (const [what, end] of Object.entries(ends)) {
    await using leader = await stage.replica(namespace);
    await leads(leader);
    await using standby = await stage.replica(namespace);
    // Its caches fill.
    await sleep(10_000);
    const stale = targets.regressions.length;
    await using _changing = changeRepeatedly(scene);
    await sleep(3_000);
    stage.progress.note(`${what} of the leader`);
    const writes = watchGaps(scene);
    const ended = end(leader);
    await leads(standby);
    await ended;
    await sleep(5_000);
    record(scene, "b7", {
      [`longest gap between two target writes, ${what}, s`]: writes() / 1_000,
      [`stale writes, ${what}`]: targets.regressions.length - stale,
    });
  }
  return scene.subject.start(stage, namespace);
};

const leads = (operator: OperatorProcess): Promise<boolean> =>
  waitUntil("a replica leads", () => operator.log.includes('"msg":"starting workers"'), 60_000, 50);

/** Changes secrets of all connections in turn, until it is disposed. A list is read at most once per second and connection. */
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

/** Returns a function that returns the longest time in ms between two target writes since now. */
function watchGaps({ targets }: Scene): () => number {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    if (targets.changedAt > last) {
      longest = Math.max(longest, targets.changedAt - last);
      last = targets.changedAt;
    } else longest = Math.max(longest, now - last);
  }, 20);
  return () => {
    clearInterval(timer);
    return longest;
  };
}
