import { expect, test } from "vitest";
import { VirtualClock, promiseJobs } from "../../../test/lab/clock/virtual-clock.ts";
import type { Logger } from "../../lib/logger.ts";
import {
  runController,
  type ControllerOptions,
  type ReconcileOutcome,
  resync,
} from "./controller.ts";
import { KubeError } from "../kube/kube-error.ts";
import { QueueLimits } from "./queue-limits.ts";
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

function start(
  reconcile: ControllerOptions["reconcile"],
  {
    concurrency = 16,
    ...options
  }: Partial<ControllerOptions> & { readonly concurrency?: number } = {},
): Setup {
  const clock = new VirtualClock();
  const queue = new WorkQueue({
    clock,
    random: () => 1,
    turnOf: () => "",
    limits: new QueueLimits(clock, concurrency),
  });
  const outcomes: ReconcileOutcome[] = [];
  const logged: string[] = [];
  const log =
    (level: string) =>
    (fields: object, message: string): void =>
      void logged.push(JSON.stringify({ level, ...fields, message }));
  const logger: Logger = {
    debug: log("debug"),
    info: log("info"),
    warn: log("warn"),
    error: log("error"),
    child: () => logger,
  };
  const stop = new AbortController();
  const observer = {
    reconciled: (_: string, outcome: ReconcileOutcome) => void outcomes.push(outcome),
  };
  const fixed = { name: "test", queue, reconcile, clock, logger, observer, signal: stop.signal };
  const running = runController({ ...fixed, ...options });
  return { clock, queue, outcomes, logged, stop: (reason) => stop.abort(reason), running };
}

const done = { outcome: "done" } as const;

test("a failed reconciliation is retried with backoff until a success resets it", async () => {
  const times: number[] = [];
  const { clock, queue, outcomes } = start(async () => {
    times.push(clock.monotonic());
    if (times.length <= 3) throw new Error("not yet");
    return done;
  });
  queue.add("a");
  await clock.advance(10_000);
  expect(times).toEqual([0, 1_000, 3_000, 7_000]);
  expect(outcomes).toEqual(["error", "error", "error", "done"]);
  expect(queue.failures("a")).toBe(0);
});

test("a retry waits for its minimum time, and so does an error with a retryAfterMs", async () => {
  const times: number[] = [];
  const { clock, queue, outcomes } = start(async () => {
    times.push(clock.monotonic());
    if (times.length === 1)
      return { outcome: "retry", cause: "vault", reason: "RateLimited", atLeastMs: 5_000 };
    throw new KubeError({ kind: "TooManyRequests", operation: "get", retryAfterMs: 3_000 });
  });
  queue.add("a");
  await clock.advance(8_000);
  expect(times).toEqual([0, 5_000, 8_000]);
  expect(outcomes).toEqual(["retry", "retry", "retry"]);
});

test("an expected retry is logged without frames, from the second on, once per reason", async () => {
  const reasons = [
    "Conflict",
    "Unavailable",
    "Unavailable",
    "Timeout",
    "Timeout",
    "Timeout",
  ] as const;
  let attempts = 0;
  const { clock, queue, logged } = start(async () => {
    const kind = reasons[attempts];
    attempts += 1;
    if (kind === undefined) return done;
    throw new KubeError({ kind, operation: `update secrets ${CANARY}` });
  });
  queue.add("a");
  await clock.advance(600_000);
  expect(attempts).toBe(7);
  expect(logged.map((line) => JSON.parse(line))).toEqual([
    {
      level: "debug",
      controller: "test",
      key: "a",
      reason: "Conflict",
      failures: 1,
      message: "retrying",
    },
    {
      level: "info",
      controller: "test",
      key: "a",
      reason: "Unavailable",
      failures: 2,
      message: "still failing, retrying",
    },
    {
      level: "info",
      controller: "test",
      key: "a",
      reason: "Timeout",
      failures: 4,
      message: "still failing, retrying",
    },
  ]);
});

test("a key that fails because of the API server is requeued when the cause is forgiven", async () => {
  let attempts = 0;
  const { clock, queue } = start(async () => {
    attempts += 1;
    throw new KubeError({ kind: "Unavailable", operation: "get", retryAfterMs: 600_000 });
  });
  queue.add("a");
  await clock.advance(0);
  queue.forgive("vault");
  await clock.advance(1_000);
  expect(attempts).toBe(1);
  queue.forgive("api");
  await clock.advance(0);
  expect(attempts).toBe(2);
});

test("a wait requeues the key after its maximum and is not a failure", async () => {
  const times: number[] = [];
  const { clock, queue } = start(async () => {
    times.push(clock.monotonic());
    return { outcome: "done", wait: { for: "target", atMostMs: 60_000 } };
  });
  queue.add("a");
  await clock.advance(120_000);
  expect(times).toEqual([0, 60_000, 120_000]);
  expect(queue.failures("a")).toBe(0);
});

test("every key is requeued once per resync, fifty at a time, whatever was missed", async () => {
  const keys = new Set(Array.from({ length: 4_000 }, (_, n) => `k${n}`));
  const seen = new Map<string, number>();
  let most = 0;
  let inThisSecond = 0;
  const { clock, stop, running } = start(
    async (key) => {
      seen.set(key, (seen.get(key) ?? 0) + 1);
      inThisSecond += 1;
      return done;
    },
    { resync: { everyMs: 1_800_000, keys: () => keys } },
  );
  for (let second = 0; second < 1_800; second += 1) {
    inThisSecond = 0;
    await clock.advance(1_000);
    most = Math.max(most, inThisSecond);
  }
  expect(seen.size).toBe(4_000);
  expect(new Set(seen.values())).toEqual(new Set([1]));
  expect(most).toBeLessThanOrEqual(50);
  stop();
  await running;
  expect(clock.pending, "timers left").toBe(0);
});

test.each([0, 1_800_000])(
  "with a resync of %d ms nothing is requeued where there is no key",
  async (everyMs) => {
    const seen: string[] = [];
    const { clock } = start(
      async (key) => {
        seen.push(key);
        return done;
      },
      { resync: { everyMs, keys: () => (everyMs === 0 ? ["a"] : []) } },
    );
    await clock.advance(4_000_000);
    expect(seen).toEqual([]);
  },
);

test("a reconcile that throws synchronously, or a non-error, stops no other key", async () => {
  const seen: string[] = [];
  const { clock, queue } = start((key) => {
    seen.push(key);
    // oxlint-disable-next-line typescript/only-throw-error -- whatever a library may throw
    if (key === "bad") throw "a string";
    return Promise.resolve(done);
  });
  queue.add("bad");
  queue.add("good");
  await clock.advance(1_000);
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
      return done;
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
      return { outcome: "done", wait: { for: "time", atMostMs: 1 } };
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
  expect(clock.pending, "timers left").toBe(0);
});

test("a reconciliation that exceeds the drain time is aborted", async () => {
  const { clock, queue, running, stop, outcomes } = start(async (_, signal) => {
    await clock.sleep(1_000_000, signal);
    return done;
  });
  queue.add("a");
  await clock.advance(10);
  stop(new Error("SIGTERM"));
  await clock.advance(15_000);
  await running;
  expect(outcomes).toEqual(["aborted"]);
});

test("a controller stopped before it starts resolves immediately", async () => {
  const { running } = start(async () => done, { signal: AbortSignal.abort() });
  await expect(running).resolves.toBeUndefined();
});

/** Runs a resync of these keys, and records what it requeues when. */
function scene(everyMs: number, keys: string[]) {
  const clock = new VirtualClock(0, promiseJobs);
  const requeued: [string, number][] = [];
  const stop = new AbortController();
  const requeue = (key: string): void => void requeued.push([key, clock.monotonic()]);
  const running = resync({ everyMs, keys: () => keys }, requeue, clock, stop.signal);
  return { clock, requeued, stop, running, keys };
}

test("each round requeues every key once, fifty together, spread evenly over it", async () => {
  const keys = Array.from({ length: 100 }, (_, index) => `${index}`);
  const { clock, requeued } = scene(4_000, keys);
  await clock.advance(8_000);
  const at = (times: readonly number[]): [string, number][] =>
    keys.map((key, index) => [key, times[Math.floor(index / 50)] ?? 0]);
  expect(requeued).toEqual([...at([2_000, 4_000]), ...at([6_000, 8_000])]);
});

test("more keys than fifty per second of a round share its steps", async () => {
  const keys = Array.from({ length: 700 }, (_, index) => `${index}`);
  const { clock, requeued } = scene(3_000, keys);
  await clock.advance(3_000);
  const counts = [1_000, 2_000, 3_000].map(
    (at) => requeued.filter(([, time]) => time === at).length,
  );
  expect(counts).toEqual([233, 233, 234]);
  expect(requeued.map(([key]) => key)).toEqual(keys);
});

test("a round of less than a second is one step", async () => {
  const { clock, requeued } = scene(500, ["a", "b"]);
  await clock.advance(500);
  expect(requeued).toEqual([
    ["a", 500],
    ["b", 500],
  ]);
});

test("a key that appears during a round is requeued in the next, also when there was none before", async () => {
  const { clock, requeued, keys } = scene(2_000, []);
  await clock.advance(1_000);
  keys.push("a");
  await clock.advance(3_000);
  expect(requeued).toEqual([["a", 4_000]]);
});

test("a resync of 0 ends immediately, without a timer", async () => {
  const { clock, running } = scene(0, ["a"]);
  await running;
  expect(clock.pending).toBe(0);
});

test.each([[["a", "b"]], [[]]])(
  "an aborted resync of %j requeues no further key and leaves no timer",
  async (keys) => {
    const { clock, requeued, stop, running } = scene(4_000, keys);
    await clock.advance(2_500);
    const before = requeued.length;
    stop.abort();
    await running;
    await clock.advance(10_000);
    expect(requeued.length).toEqual(before);
    expect(clock.pending).toBe(0);
  },
);
