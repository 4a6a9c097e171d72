import { expect, test } from "vitest";
import { promiseJobs, VirtualClock } from "../../../test/support/clock/virtual-clock.ts";
import { QueueLimits } from "./queue-limits.ts";
import { WorkQueue } from "./work-queue.ts";

/** Two queues that share limits, each with enough workers for all of its keys, and the keys that were taken. */
function scene(maxInFlight: number, capOf: () => string | undefined = () => undefined) {
  const clock = new VirtualClock(0, promiseJobs);
  const limits = new QueueLimits(clock, maxInFlight);
  const taken: string[] = [];
  const queues = [1, 2].map(() => {
    const queue = new WorkQueue({ clock, random: () => 1, turnOf: () => "", capOf, maxInFlight: 1, limits });
    for (let worker = 0; worker < 200; worker += 1) void queue.take().then((key) => key !== undefined && taken.push(key));
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
function waitingWork(limits: QueueLimits, group: string): { readonly end: () => void; readonly ended: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { end: resolve, ended: limits.wait(group, () => promise) };
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

test("a long wait frees its place for another key, and takes it back at its end", async () => {
  const { clock, limits, a, takes } = scene(1);
  for (const key of ["a1", "a2", "a3"]) a.add(key);
  expect(await takes()).toBe("a1");
  const wait = waitingWork(limits, "slow");
  await clock.advance(249);
  expect(await takes()).toBe("");
  await clock.advance(1);
  expect(await takes()).toBe("a2");
  wait.end();
  await wait.ended;
  a.done("a2");
  expect(await takes()).toBe("");
  a.done("a1");
  expect(await takes()).toBe("a3");
});

test("further waits of a slow group free their places immediately, until none of them is long", async () => {
  const { clock, limits, a, takes } = scene(1);
  for (const key of ["a1", "a2", "a3", "a4"]) a.add(key);
  const first = waitingWork(limits, "slow");
  await clock.advance(250);
  expect(await takes()).toBe("a1 a2");
  const second = waitingWork(limits, "slow");
  expect(await takes()).toBe("a3");
  for (const wait of [first, second]) wait.end();
  await Promise.all([first.ended, second.ended]);
  for (const key of ["a1", "a2", "a3"]) a.done(key);
  expect(await takes()).toBe("a4");
  const third = waitingWork(limits, "slow");
  a.add("a5");
  expect(await takes()).toBe("");
  third.end();
});

test("a long wait counts while no key waits, and at most 128 waits do not count", async () => {
  const { clock, limits, a, b, takes } = scene(200);
  const waits = Array.from({ length: 200 }, (_, n) => waitingWork(limits, `vault-${n}`));
  for (let key = 0; key < 200; key += 1) limits.taken();
  await clock.advance(10_000);
  for (let key = 0; key < 130; key += 1) (key < 65 ? a : b).add(`key-${key}`);
  expect((await takes()).split(" ")).toHaveLength(128);
  for (const wait of waits) wait.end();
});
