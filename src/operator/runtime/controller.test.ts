import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/support/clock/virtual-clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { runController, TerminalError, type ControllerOptions, type ReconcileOutcome } from "./controller.ts";
import { WorkQueue } from "./work-queue.ts";

const CANARY = "canary-5fb1c8e29d7a4c60";

interface Setup {
  readonly clock: VirtualClock;
  readonly queue: WorkQueue;
  readonly outcomes: ReconcileOutcome[];
  readonly logged: string[];
  readonly stop: (reason?: unknown) => void;
  readonly running: Promise<void>;
}

function start(reconcile: ControllerOptions["reconcile"], options: Partial<ControllerOptions> = {}): Setup {
  const clock = new VirtualClock();
  const queue = new WorkQueue({ clock, random: () => 1, groupOf: () => "" });
  const outcomes: ReconcileOutcome[] = [];
  const logged: string[] = [];
  const log = (fields: object, message: string): void => void logged.push(JSON.stringify({ ...fields, message }));
  const logger: Logger = { debug: log, info: log, warn: log, error: log, child: () => logger };
  const stop = new AbortController();
  const observer = { reconciled: (_: string, outcome: ReconcileOutcome) => void outcomes.push(outcome) };
  const running = runController({ name: "test", queue, reconcile, clock, logger, observer, signal: stop.signal, ...options });
  return { clock, queue, outcomes, logged, stop: (reason) => stop.abort(reason), running };
}

test("a failed reconciliation is retried with backoff, which a success resets", async () => {
  const times: number[] = [];
  const { clock, queue, outcomes } = start(async () => {
    times.push(clock.monotonic());
    if (times.length <= 3) throw new Error("not yet");
    return {};
  });
  queue.add("a");
  await clock.advance(10_000);
  expect(times).toEqual([0, 5, 15, 35]);
  expect(outcomes).toEqual(["error", "error", "error", "success"]);
  expect(queue.failures("a")).toBe(0);
});

test("a retry waits for the error's own retryAfterMs", async () => {
  const times: number[] = [];
  const { clock, queue } = start(async () => {
    times.push(clock.monotonic());
    throw Object.assign(new Error("busy"), { retryAfterMs: 3_000 });
  });
  queue.add("a");
  await clock.advance(3_000);
  expect(times).toEqual([0, 3_000]);
});

test("a key with a terminal error is not retried until it is added again", async () => {
  const { clock, queue, outcomes } = start(async () => {
    throw new TerminalError("never");
  });
  queue.add("a");
  await clock.advance(10_000_000);
  expect(outcomes).toEqual(["terminal"]);
  queue.add("a");
  await clock.advance(0);
  expect(outcomes).toEqual(["terminal", "terminal"]);
});

test("requeueAfterMs requeues the key after that time and is not a failure", async () => {
  const times: number[] = [];
  const { clock, queue } = start(async () => {
    times.push(clock.monotonic());
    return { requeueAfterMs: 60_000 };
  });
  queue.add("a");
  await clock.advance(120_000);
  expect(times).toEqual([0, 60_000, 120_000]);
  expect(queue.failures("a")).toBe(0);
});

test("a reconcile that throws synchronously, or a non-error, stops no other key", async () => {
  const seen: string[] = [];
  const { clock, queue } = start((key) => {
    seen.push(key);
    // oxlint-disable-next-line typescript/only-throw-error -- whatever a library may throw
    if (key === "bad") throw "a string";
    return Promise.resolve({});
  });
  queue.add("bad");
  queue.add("good");
  await clock.advance(5);
  expect(seen).toEqual(["bad", "good", "bad"]);
});

test("keys run in parallel up to the concurrency, and never the same key twice", async () => {
  const running = new Set<string>();
  let most = 0;
  let twice = 0;
  const { clock, queue } = start(
    async (key) => {
      if (running.has(key)) twice += 1;
      running.add(key);
      most = Math.max(most, running.size);
      queue.add(key === "k0" ? key : "k0");
      await clock.sleep(10);
      running.delete(key);
      return {};
    },
    { concurrency: 3 },
  );
  for (let n = 0; n < 10; n += 1) queue.add(`k${n}`);
  await clock.advance(200);
  expect(most).toBe(3);
  expect(twice).toBe(0);
});

test("the message of an error is not logged, because it may contain a value", async () => {
  const { clock, queue, logged } = start(async () => {
    throw new Error(`rejected value ${CANARY}`);
  });
  queue.add("a");
  await clock.advance(0);
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('"error":"Error"');
  expect(logged[0]).toContain("controller.test.ts");
  expect(logged.join("\n")).not.toContain(CANARY);
});

test("a stopped controller finishes running reconciliations and takes no further key", async () => {
  const finished: string[] = [];
  const { clock, queue, running, stop } = start(
    async (key) => {
      await clock.sleep(1_000);
      finished.push(key);
      return { requeueAfterMs: 1 };
    },
    { concurrency: 1 },
  );
  queue.add("a");
  queue.add("b");
  await clock.advance(10);
  stop();
  await clock.advance(1_000);
  await running;
  expect(finished).toEqual(["a"]);
  expect(queue.waiting).toBe(0);
  expect(clock.pending, "timers left").toBe(0);
});

test("a reconciliation that exceeds the drain time is aborted", async () => {
  const { clock, queue, running, stop, outcomes } = start(
    async (_, signal) => {
      await clock.sleep(1_000_000, signal);
      return {};
    },
    { drainMs: 500 },
  );
  queue.add("a");
  await clock.advance(10);
  stop(new Error("SIGTERM"));
  await clock.advance(500);
  await running;
  expect(outcomes).toEqual(["aborted"]);
});

test("a controller stopped before it starts resolves immediately", async () => {
  const { running } = start(async () => ({}), { signal: AbortSignal.abort() });
  await expect(running).resolves.toBeUndefined();
});
