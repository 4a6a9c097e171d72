import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { silentLogger, type Logger } from "../../lib/logger.ts";
import { KubeError } from "../kube/kube-error.ts";
import { runController, type ReconcileResult } from "./controller.ts";
import { QueueLimits } from "./queue-limits.ts";
import { WorkQueue } from "./work-queue.ts";

/** A running controller on a virtual clock, and what it reports about its reconciliations. */
function start(reconcile: (clock: VirtualClock, signal: AbortSignal) => Promise<ReconcileResult>) {
  const clock = new VirtualClock();
  const queue = new WorkQueue({
    clock,
    random: () => 1,
    turnOf: () => "",
    limits: new QueueLimits(clock, 1),
  });
  const reported: [string, string, number][] = [];
  const infos: object[] = [];
  const warnings: [object, string][] = [];
  const logger: Logger = {
    ...silentLogger,
    info: (fields) => void infos.push(fields),
    warn: (fields, message) => void warnings.push([fields, message]),
  };
  const stop = new AbortController();
  const running = runController({
    name: "test",
    queue,
    reconcile: (_, signal) => reconcile(clock, signal),
    clock,
    logger,
    observer: { reconciled: (...reconciled) => void reported.push(reconciled) },
    signal: stop.signal,
  });
  return { clock, queue, reported, infos, warnings, stop, running };
}

const done = { outcome: "done" } as const;

test("the duration of a reconciliation is reported with its outcome", async () => {
  const { clock, queue, reported } = start(async (time) => {
    await time.sleep(30);
    return done;
  });
  await clock.advance(1_000);
  queue.add("a");
  await clock.advance(1_000);
  expect(reported).toEqual([["test", "done", 30]]);
});

test("a reason is logged again when the key succeeded meanwhile", async () => {
  let attempts = 0;
  const { clock, queue, infos } = start(async () => {
    attempts += 1;
    if (attempts % 3 === 0) return done;
    throw new KubeError({ kind: "Conflict", operation: "update" });
  });
  queue.add("a");
  await clock.advance(10_000);
  queue.add("a");
  await clock.advance(10_000);
  expect(attempts).toBe(6);
  expect(infos).toEqual([
    { controller: "test", key: "a", reason: "Conflict", failures: 2 },
    { controller: "test", key: "a", reason: "Conflict", failures: 2 },
  ]);
});

test.each<[string, () => ReconcileResult]>([
  ["returns a retry", () => ({ outcome: "retry", cause: "vault", reason: "VaultUnreachable" })],
  [
    "throws",
    () => {
      throw new Error("aborted");
    },
  ],
])(
  "a reconciliation that %s after the drain time is aborted, and nothing is logged",
  async (_, end) => {
    const { clock, queue, reported, infos, warnings, stop, running } = start(
      async (time, signal) => {
        await time.sleep(1_000_000, signal).catch(() => undefined);
        return end();
      },
    );
    queue.add("a");
    await clock.advance(10);
    stop.abort();
    await clock.advance(15_000);
    await running;
    expect(reported).toEqual([["test", "aborted", 15_010]]);
    expect(infos).toEqual([]);
    expect(warnings).toEqual([]);
  },
);

/** Returns an error with six frames, two of which are not indented like frames. */
function failure(stack: string | undefined): Error {
  const error = new TypeError("canary-3d0a");
  if (stack === undefined) delete error.stack;
  else error.stack = stack;
  return error;
}

test.each<[string, unknown, object]>([
  [
    "the first four frames of an error",
    failure(
      "TypeError: canary-3d0a\n    at one (a.ts:1)\nat text\n    at two \n    at three\n    at four\n    at five",
    ),
    { error: "TypeError", at: ["one (a.ts:1)", "two", "three", "four"] },
  ],
  ["no frames of an error without a stack", failure(undefined), { error: "TypeError", at: [] }],
  ["the type of what is not an error", "canary-3d0a", { error: "string" }],
])("an unexpected failure is logged with %s", async (_, thrown, fields) => {
  const { clock, queue, warnings } = start(async () => {
    throw thrown;
  });
  queue.add("a");
  await clock.advance(0);
  expect(warnings).toEqual([
    [{ controller: "test", key: "a", failures: 1, ...fields }, "reconcile failed"],
  ]);
});
