import { expect, test } from "vitest";
import { promiseJobs, VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { QueueLimits } from "./queue-limits.ts";
import { WorkQueue } from "./work-queue.ts";

/**
 * Two queues that share limits, each with enough workers for all of its keys, and the keys that
 * were taken.
 */
function scene(maxInFlight: number, capOf: () => string | undefined = () => undefined) {
  const clock = new VirtualClock(0, promiseJobs);
  const limits = new QueueLimits(clock, maxInFlight);
  const taken: string[] = [];
  const queues = [1, 2].map(() => {
    const queue = new WorkQueue({
      clock,
      random: () => 1,
      turnOf: () => "",
      capOf,
      maxInFlight: 1,
      limits,
    });
    for (let worker = 0; worker < 300; worker += 1)
      void queue.take().then((key) => key !== undefined && taken.push(key));
    return queue;
  });
  const [a, b] = queues as [WorkQueue, WorkQueue];
  /** Returns the keys that were taken since the last call. */
  const takes = async (): Promise<string> => {
    await clock.advance(0);
    return taken.splice(0).join(" ");
  };
  return { clock, limits, a, b, takes };
}

/** Work that waits for another system until it is ended. */
function waitingWork(limits: QueueLimits): {
  readonly end: () => void;
  readonly ended: Promise<void>;
} {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { end: resolve, ended: limits.wait(() => promise) };
}

test("queues that share limits process so many keys together, and take turns", async () => {
  const { a, b, takes } = scene(3);
  for (const key of ["a1", "a2", "a3", "a4", "a5"]) a.add(key);
  for (const key of ["b1", "b2"]) b.add(key);
  expect(await takes()).toBe("a1 a2 a3");
  a.done("a1");
  expect(await takes()).toBe("a4");
  a.done("a2");
  expect(await takes()).toBe("b1");
  b.done("b1");
  expect(await takes()).toBe("a5");
  a.done("a3");
  expect(await takes()).toBe("b2");
});

test("a queue that cannot take a key leaves it to the other one", async () => {
  const { a, b, takes } = scene(2, () => "connection");
  a.add("a1");
  b.add("b1");
  a.add("a2");
  b.add("b2");
  expect(await takes()).toBe("a1 b1");
  b.done("b1");
  expect(await takes()).toBe("b2");
  a.shutdown();
  a.done("a1");
  b.add("b3");
  b.done("b2");
  expect(await takes()).toBe("b3");
});

test("queues that share limits retry 100 keys together, and then 10 per second", async () => {
  const { clock, a, b, takes } = scene(Infinity);
  for (let key = 0; key < 70; key += 1) {
    a.retry(`a${key}`, "api");
    b.retry(`b${key}`, "api");
  }
  await clock.advance(1_000);
  expect((await takes()).split(" ")).toHaveLength(100);
  await clock.advance(1_050);
  expect((await takes()).split(" ")).toHaveLength(10);
});

test("a wait frees its place for another key, and continues before others are taken", async () => {
  const { limits, a, takes } = scene(1);
  for (const key of ["a1", "a2", "a3"]) a.add(key);
  expect(await takes()).toBe("a1");
  const wait = waitingWork(limits);
  expect(await takes()).toBe("a2");
  let hasEnded = false;
  void wait.ended.then(() => (hasEnded = true));
  wait.end();
  expect(await takes()).toBe("");
  expect(hasEnded).toBe(false);
  a.done("a2");
  expect(await takes()).toBe("");
  expect(hasEnded).toBe(true);
  a.done("a1");
  expect(await takes()).toBe("a3");
});

test("a wait that fails takes its place back", async () => {
  const { limits, a, takes } = scene(1);
  a.add("a1");
  await takes();
  await expect(limits.wait(() => Promise.reject(new Error("no vault")))).rejects.toThrow(
    "no vault",
  );
  a.add("a2");
  expect(await takes()).toBe("");
  a.done("a1");
  expect(await takes()).toBe("a2");
});

test("no further key is taken while 512 keys wait", async () => {
  const { limits, a, b, takes } = scene(1);
  const waits: ReturnType<typeof waitingWork>[] = [];
  for (let key = 0; key < 600; key += 1) (key < 300 ? a : b).add(`key-${key}`);
  for (let taken = await takes(); taken !== ""; taken = await takes())
    waits.push(waitingWork(limits));
  expect(waits).toHaveLength(512);
  waits[0]?.end();
  expect(await takes()).toBe("");
  a.done("key-0");
  expect(await takes()).not.toBe("");
  for (const wait of waits) wait.end();
});
