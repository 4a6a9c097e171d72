import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/support/clock/virtual-clock.ts";
import { WorkQueue } from "./work-queue.ts";

function newQueue(random = () => 1): { queue: WorkQueue; clock: VirtualClock } {
  const clock = new VirtualClock();
  return { queue: new WorkQueue({ clock, random, groupOf: (key) => key.split("/")[0] ?? "" }), clock };
}

/** What can be taken without waiting; every key is given back. */
async function drain(queue: WorkQueue): Promise<(string | undefined)[]> {
  const taken: (string | undefined)[] = [];
  while (queue.depth > 0) {
    const key = await queue.take();
    taken.push(key);
    if (key !== undefined) queue.done(key);
  }
  return taken;
}

test("a key added many times before it is taken is handed out once", async () => {
  const { queue } = newQueue();
  for (let n = 0; n < 5; n += 1) queue.add("a/1");
  expect(await drain(queue)).toEqual(["a/1"]);
});

test("a key added while it is worked on is handed out once more, after it is done", async () => {
  const { queue } = newQueue();
  queue.add("a/1");
  expect(await queue.take()).toBe("a/1");
  queue.add("a/1");
  queue.add("a/1");
  expect(queue.depth).toBe(0);
  queue.done("a/1");
  expect(await drain(queue)).toEqual(["a/1"]);
});

test("a worker that waits gets the key as soon as it is added", async () => {
  const { queue } = newQueue();
  const taken = queue.take();
  queue.add("a/1");
  expect(await taken).toBe("a/1");
});

test("the more urgent goes first, and namespaces take turns within a priority", async () => {
  const { queue } = newQueue();
  queue.add("a/background");
  queue.add("a/vault", "vault");
  queue.add("a/drift", "drift");
  for (const key of ["a/1", "a/2", "b/1"]) queue.add(key, "spec");
  expect(await drain(queue)).toEqual(["a/1", "b/1", "a/2", "a/drift", "a/vault", "a/background"]);
});

test("a queued key that becomes more urgent moves up, and never down again", async () => {
  const { queue } = newQueue();
  for (const key of ["a/1", "b/1"]) queue.add(key, "vault");
  queue.add("b/1", "spec");
  queue.add("b/1", "background");
  expect(await drain(queue)).toEqual(["b/1", "a/1"]);
});

test("a key added urgently while it is worked on is urgent afterwards", async () => {
  const { queue } = newQueue();
  queue.add("a/1");
  await queue.take();
  queue.add("a/1", "spec");
  queue.add("a/1", "background");
  queue.add("b/1", "vault");
  queue.done("a/1");
  expect(await drain(queue)).toEqual(["a/1", "b/1"]);
});

test("a delayed key waits for the earliest moment asked for, and comes once", async () => {
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

test("no delay means now", async () => {
  const { queue } = newQueue();
  queue.addAfter("a/1", 0);
  expect(await drain(queue)).toEqual(["a/1"]);
});

test("failures wait 5 ms, 10, 20 … up to 1000 s, and forgetting starts again", async () => {
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

test("chance shortens a back-off by up to a half, so that keys that failed together do not return together", () => {
  const { queue, clock } = newQueue(() => 0);
  queue.addRateLimited("a/1");
  expect(clock.nextIn).toBe(2.5);
});

test("a failed key does not come back before the time it was told to wait", () => {
  const { queue, clock } = newQueue();
  queue.addRateLimited("a/1", 7_000);
  expect(clock.nextIn).toBe(7_000);
});

test("a failed key is as urgent as it was", async () => {
  const { queue, clock } = newQueue();
  queue.add("a/1", "spec");
  await queue.take();
  queue.addRateLimited("a/1");
  queue.done("a/1");
  queue.add("b/1", "vault");
  await clock.advance(5);
  expect(await drain(queue)).toEqual(["a/1", "b/1"]);
});

test("after a shutdown workers get nothing, nothing is added, and no timer is left", async () => {
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
