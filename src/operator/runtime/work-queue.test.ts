import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { WorkQueue } from "./work-queue.ts";

const namespaceOf = (key: string): string => key.split("/")[0] ?? "";

function newQueue(random = () => 1): { queue: WorkQueue; clock: VirtualClock } {
  const clock = new VirtualClock();
  return { queue: new WorkQueue({ clock, random, turnOf: namespaceOf }), clock };
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
  expect(await drain(queue)).toEqual(["a/1", "b/1", "a/2", "a/background", "a/drift", "a/vault"]);
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

test("a dropped deadline leaves no priority to a later one of the key", async () => {
  const { queue, clock } = newQueue();
  queue.addAfter("a/1", 1_000, "spec");
  queue.drop("a/1");
  await clock.advance(1_000);
  expect(queue.depth).toBe(0);
  queue.addAfter("a/1", 1_000);
  queue.addAfter("a/2", 1_001, "vault");
  await clock.advance(1_001);
  expect(await drain(queue)).toEqual(["a/2", "a/1"]);
});

test("the backoff doubles from 1 s up to 60 s, and forget resets it", async () => {
  const { queue, clock } = newQueue();
  const waits: (number | undefined)[] = [];
  for (let n = 0; n < 8; n += 1) {
    queue.retry("a/1", "api");
    waits.push(clock.nextIn);
    await clock.advance(60_000);
    await drain(queue);
  }
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  expect(queue.failures("a/1")).toBe(8);
  queue.forget("a/1");
  queue.retry("a/1", "api");
  expect(clock.nextIn).toBe(1_000);
});

test("jitter shortens a backoff by up to a half", () => {
  const { queue, clock } = newQueue(() => 0);
  queue.retry("a/1", "api");
  expect(clock.nextIn).toBe(500);
});

test("a failed key is not ready before its minimum delay", () => {
  const { queue, clock } = newQueue();
  queue.retry("a/1", "vault", 7_000);
  expect(clock.nextIn).toBe(7_000);
});

test("a failed key keeps its priority", async () => {
  const { queue, clock } = newQueue();
  queue.add("a/1", "spec");
  await queue.take();
  queue.retry("a/1", "api");
  queue.done("a/1");
  queue.add("b/1", "vault");
  await clock.advance(1_000);
  expect(await drain(queue)).toEqual(["a/1", "b/1"]);
});

test("a key that succeeds before its retry is not retried, and its later deadline remains", async () => {
  const { queue, clock } = newQueue();
  queue.addAfter("a/1", 5_000);
  queue.retry("a/1", "vault", 1_000);
  queue.add("a/1");
  expect(await drain(queue)).toEqual(["a/1"]);
  await clock.advance(4_999);
  expect(queue.depth).toBe(0);
  await clock.advance(1);
  expect(await drain(queue)).toEqual(["a/1"]);
});

test("after 100 retries the keys of all are retried 10 per second, and namespaces take turns", async () => {
  const { queue, clock } = newQueue();
  for (let n = 0; n < 200; n += 1) queue.retry(`a/${n}`, "vault");
  queue.retry("b/1", "vault");
  await clock.advance(1_000);
  expect(await drain(queue)).toHaveLength(100);
  await clock.advance(1_000);
  const next = await drain(queue);
  expect(next).toHaveLength(10);
  await clock.advance(1_000);
  expect([...next, ...(await drain(queue))].slice(0, 2)).toContain("b/1");
  expect(queue.retrying).toBe(201 - 120);
});

test("10,000 keys that fail immediately cause at most 100 attempts and 10 more per second", async () => {
  const { queue, clock } = newQueue(Math.random);
  for (let n = 0; n < 10_000; n += 1) queue.retry(`a/${n}`, "api");
  let attempts = 0;
  for (let second = 1; second <= 60; second += 1) {
    await clock.advance(1_000);
    for (const key of await drain(queue)) {
      attempts += 1;
      if (key !== undefined) queue.retry(key, "api");
    }
    expect(attempts).toBeLessThanOrEqual(100 + 10 * second);
  }
});

test("forgiven keys are added within seconds, spread, and only those that failed for this cause", async () => {
  const { queue, clock } = newQueue();
  for (let n = 0; n < 1_000; n += 1) queue.retry(`a/${n}`, "api", 600_000);
  queue.retry("b/1", "vault", 600_000);
  queue.forgive("api");
  await clock.advance(500);
  const first = (await drain(queue)).length;
  expect(first).toBe(101);
  await clock.advance(4_500);
  expect(first + (await drain(queue)).length).toBe(1_000);
  expect(queue.failures("a/0")).toBe(0);
  expect(queue.retrying).toBe(1);
});

test("a deadline in the past of another does not delay it, however many are set", async () => {
  const { queue, clock } = newQueue();
  for (let n = 0; n < 1_000; n += 1) queue.addAfter(`a/${n % 10}`, 10_000 - n);
  expect(clock.pending, "one timer for all").toBe(1);
  await clock.advance(9_001);
  expect(await drain(queue)).toHaveLength(1);
  await clock.advance(9);
  expect(await drain(queue)).toHaveLength(9);
  expect(clock.pending).toBe(0);
});

/** Keys of connection `slow` and `fast`, and keys of none. */
const capOf = (key: string): string | undefined => /slow|fast/.exec(key)?.[0];

function cappedQueue(): { queue: WorkQueue; clock: VirtualClock } {
  const clock = new VirtualClock();
  return {
    queue: new WorkQueue({ clock, random: () => 1, turnOf: namespaceOf, capOf, maxInFlight: 2 }),
    clock,
  };
}

test("keys of a connection at its cap are skipped until one of them is done", async () => {
  const { queue } = cappedQueue();
  for (const key of [
    "a/slow-1",
    "a/slow-2",
    "a/slow-3",
    "a/slow-4",
    "a/fast-1",
    "b/1",
    "b/2",
    "b/3",
  ])
    queue.add(key);
  const taken = await Promise.all(Array.from({ length: 6 }, () => queue.take()));
  expect(new Set(taken)).toEqual(
    new Set(["a/fast-1", "a/slow-1", "a/slow-2", "b/1", "b/2", "b/3"]),
  );
  const next = queue.take();
  expect(queue.depth).toBe(2);
  queue.done("a/slow-2");
  expect(await next).toBe("a/slow-3");
  expect(queue.depth).toBe(1);
});

test("a key that moves to another connection counts for the one it had when it was taken", async () => {
  const clock = new VirtualClock();
  let connection = "x";
  const queue = new WorkQueue({
    clock,
    random: () => 1,
    turnOf: namespaceOf,
    capOf: () => connection,
    maxInFlight: 1,
  });
  queue.add("a/1");
  queue.add("a/2");
  expect(await queue.take()).toBe("a/1");
  connection = "y";
  queue.done("a/1");
  expect(await queue.take()).toBe("a/2");
  queue.add("a/3");
  expect(await queue.take()).toBe("a/3");
});

test("of every four keys taken one is the oldest, so urgent keys without end starve no other", async () => {
  const { queue, clock } = newQueue();
  for (let n = 0; n < 64; n += 1) queue.add(`busy/${n}`, "spec");
  await clock.advance(1);
  queue.add("quiet/1", "vault");
  let taken = 0;
  for (let key: string | undefined; key !== "quiet/1"; taken += 1) {
    key = await queue.take();
    if (key === undefined) break;
    queue.done(key);
    if (key !== "quiet/1") queue.add(key, "spec");
    await clock.advance(1);
    if (taken > 1_000) break;
  }
  expect(taken).toBeLessThanOrEqual(4 * 65);
});

test("the age of the oldest ready key counts from its first addition", async () => {
  const { queue, clock } = newQueue();
  expect(queue.oldestAgeMs).toBe(0);
  queue.add("a/1", "vault");
  await clock.advance(2_000);
  queue.add("a/2", "spec");
  queue.add("a/1", "spec");
  expect(queue.oldestAgeMs).toBe(2_000);
  await drain(queue);
  expect(queue.oldestAgeMs).toBe(0);
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
  // The fourth is taken as the oldest and costs its group no turn.
  expect(await drain(queue)).toEqual(["a/1", "b/1", "c/1", "a/2", "a/3", "c/2"]);
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
