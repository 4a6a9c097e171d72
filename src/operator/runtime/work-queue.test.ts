import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/support/clock/virtual-clock.ts";
import { WorkQueue } from "./work-queue.ts";

function newQueue(random = () => 1): { queue: WorkQueue; clock: VirtualClock } {
  const clock = new VirtualClock();
  return { queue: new WorkQueue({ clock, random, groupOf: (key) => key.split("/")[0] ?? "" }), clock };
}

/** Takes all ready keys, marking each as done. */
async function drain(queue: WorkQueue): Promise<(string | undefined)[]> {
  const taken: (string | undefined)[] = [];
  while (queue.depth > 0) {
    const key = await queue.take();
    taken.push(key);
    if (key !== undefined) queue.done(key);
  }
  return taken;
}

test("a key added several times before it is taken is taken once", async () => {
  const { queue } = newQueue();
  for (let n = 0; n < 5; n += 1) queue.add("a/1");
  expect(await drain(queue)).toEqual(["a/1"]);
});

test("a key added while it is processed is taken once more after it is done", async () => {
  const { queue } = newQueue();
  queue.add("a/1");
  expect(await queue.take()).toBe("a/1");
  queue.add("a/1");
  queue.add("a/1");
  expect(queue.depth).toBe(0);
  queue.done("a/1");
  expect(await drain(queue)).toEqual(["a/1"]);
});

test("a waiting worker gets a key immediately after its addition", async () => {
  const { queue } = newQueue();
  const taken = queue.take();
  queue.add("a/1");
  expect(await taken).toBe("a/1");
});

test("more urgent keys come first, and groups take turns within a priority", async () => {
  const { queue } = newQueue();
  queue.add("a/background");
  queue.add("a/vault", "vault");
  queue.add("a/drift", "drift");
  for (const key of ["a/1", "a/2", "b/1"]) queue.add(key, "spec");
  expect(await drain(queue)).toEqual(["a/1", "b/1", "a/2", "a/drift", "a/vault", "a/background"]);
});

test("a queued key moves to a more urgent priority and never back", async () => {
  const { queue } = newQueue();
  for (const key of ["a/1", "b/1"]) queue.add(key, "vault");
  queue.add("b/1", "spec");
  queue.add("b/1", "background");
  expect(await drain(queue)).toEqual(["b/1", "a/1"]);
});

test("a key added urgently while it is processed is urgent afterwards", async () => {
  const { queue } = newQueue();
  queue.add("a/1");
  await queue.take();
  queue.add("a/1", "spec");
  queue.add("a/1", "background");
  queue.add("b/1", "vault");
  queue.done("a/1");
  expect(await drain(queue)).toEqual(["a/1", "b/1"]);
});

test("a delayed key becomes ready once, at the earliest requested time", async () => {
  const { queue, clock } = newQueue();
  queue.addAfter("a/1", 1_000);
  queue.addAfter("a/1", 300, "spec");
  queue.addAfter("a/1", 5_000);
  await clock.advance(299);
  expect(queue.depth).toBe(0);
  await clock.advance(1);
  expect(await drain(queue)).toEqual(["a/1"]);
  await clock.advance(10_000);
  expect(queue.depth).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a delay of zero makes the key ready immediately", async () => {
  const { queue } = newQueue();
  queue.addAfter("a/1", 0);
  expect(await drain(queue)).toEqual(["a/1"]);
});

test("the backoff doubles from 5 ms up to 1000 s, and forget resets it", async () => {
  const { queue, clock } = newQueue();
  const waits: (number | undefined)[] = [];
  for (let n = 0; n < 20; n += 1) {
    queue.addRateLimited("a/1");
    waits.push(clock.nextIn);
    await clock.advance(1_000_000);
    await drain(queue);
  }
  expect(waits.slice(0, 4)).toEqual([5, 10, 20, 40]);
  expect(waits.slice(-2)).toEqual([1_000_000, 1_000_000]);
  expect(queue.failures("a/1")).toBe(20);
  queue.forget("a/1");
  queue.addRateLimited("a/1");
  expect(clock.nextIn).toBe(5);
});

test("jitter shortens a backoff by up to a half", () => {
  const { queue, clock } = newQueue(() => 0);
  queue.addRateLimited("a/1");
  expect(clock.nextIn).toBe(2.5);
});

test("a failed key is not ready before its minimum delay", () => {
  const { queue, clock } = newQueue();
  queue.addRateLimited("a/1", 7_000);
  expect(clock.nextIn).toBe(7_000);
});

test("a failed key keeps its priority", async () => {
  const { queue, clock } = newQueue();
  queue.add("a/1", "spec");
  await queue.take();
  queue.addRateLimited("a/1");
  queue.done("a/1");
  queue.add("b/1", "vault");
  await clock.advance(5);
  expect(await drain(queue)).toEqual(["a/1", "b/1"]);
});

test("after shutdown workers get undefined, additions are ignored, and no timer is left", async () => {
  const { queue, clock } = newQueue();
  queue.add("a/1");
  const waiting = [queue.take(), queue.take()];
  queue.add("a/2");
  queue.add("a/3");
  queue.addAfter("a/4", 1_000);
  queue.shutdown();
  queue.add("a/5");
  queue.addAfter("a/6", 1_000);
  queue.done("a/1");
  expect(await Promise.all([...waiting, queue.take()])).toEqual(["a/1", "a/2", undefined]);
  expect(queue.depth).toBe(0);
  expect(clock.pending).toBe(0);
});

test("groups take turns, and the keys of one group are first in, first out", async () => {
  const { queue } = newQueue();
  for (const key of ["a/1", "a/2", "a/3", "b/1", "c/1", "c/2"]) queue.add(key);
  expect(await drain(queue)).toEqual(["a/1", "b/1", "c/1", "a/2", "c/2", "a/3"]);
});

test("a group that had its turn comes before a group added later", async () => {
  const { queue } = newQueue();
  for (const key of ["a/1", "a/2", "b/1"]) queue.add(key);
  expect(await queue.take()).toBe("a/1");
  queue.add("c/1");
  expect(await drain(queue)).toEqual(["b/1", "a/2", "c/1"]);
});

test("a group whose only key moves to another priority has no turn", async () => {
  const { queue } = newQueue();
  for (const key of ["a/1", "b/1"]) queue.add(key, "vault");
  queue.add("a/1", "spec");
  expect(await drain(queue)).toEqual(["a/1", "b/1"]);
});
