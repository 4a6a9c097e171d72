import { expect, test } from "vitest";
import { promiseJobs, VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { WorkQueue } from "./work-queue.ts";

function scene() {
  const clock = new VirtualClock(0, promiseJobs);
  const options = {
    clock,
    random: () => 1,
    turnOf: () => "",
    capOf: (key: string) => key[0],
    maxInFlight: 2,
  };
  const queue = new WorkQueue(options);
  /** Takes all ready keys, marking each as done. */
  const drain = async (): Promise<(string | undefined)[]> => {
    const taken: (string | undefined)[] = [];
    while (queue.depth > 0) {
      const key = await queue.take();
      taken.push(key);
      if (key !== undefined) queue.done(key);
    }
    return taken;
  };
  return { clock, queue, drain };
}

test("a key that fails again in front of the gate waits for its next backoff", async () => {
  const { clock, queue, drain } = scene();
  for (let n = 0; n <= 100; n += 1) queue.retry(`a${n}`, "vault");
  await clock.advance(1_000);
  expect(await drain()).toHaveLength(100);
  queue.retry("a100", "vault", 30_000);
  await clock.advance(29_999);
  expect(queue.depth).toBe(0);
  expect(queue.retrying).toBe(1);
  await clock.advance(1);
  expect(await drain()).toEqual(["a100"]);
});

test("a forgotten key is not retried, wherever it waits", async () => {
  const { clock, queue, drain } = scene();
  for (let n = 0; n <= 100; n += 1) queue.retry(`a${n}`, "vault");
  queue.retry("b", "vault", 5_000);
  await clock.advance(1_000);
  await drain();
  queue.forget("a100");
  queue.forget("b");
  expect(queue.retrying).toBe(0);
  expect(clock.pending).toBe(0);
  await clock.advance(60_000);
  expect(queue.depth).toBe(0);
});

test("forgiven keys are added every 5 ms with their priority, and without failures", async () => {
  const { clock, queue, drain } = scene();
  for (const key of ["a", "b", "c"]) {
    queue.add(key, "spec");
    await queue.take();
    queue.retry(key, "api");
    queue.done(key);
  }
  queue.add("y");
  await drain();
  queue.add("z", "vault");
  queue.forgive("api");
  expect(queue.depth).toBe(2);
  expect(queue.retrying).toBe(0);
  expect(queue.failures("a")).toBe(0);
  expect(queue.failures("c")).toBe(0);
  expect(await drain()).toEqual(["a", "z"]);
  await clock.advance(5);
  expect(await drain()).toEqual(["b"]);
  await clock.advance(4);
  expect(queue.depth).toBe(0);
  await clock.advance(1);
  expect(await drain()).toEqual(["c"]);
});

test("a delayed key has the most urgent requested priority, for this time only", async () => {
  const { clock, queue, drain } = scene();
  queue.addAfter("a", 200, "spec");
  queue.addAfter("a", 100, "background");
  queue.add("b", "vault");
  await clock.advance(100);
  expect(await drain()).toEqual(["a", "b"]);
  queue.addAfter("a", 100, "background");
  queue.add("b", "vault");
  await clock.advance(100);
  expect(await drain()).toEqual(["b", "a"]);
});

test("each key that is done frees one place of its connection", async () => {
  const { queue } = scene();
  for (let n = 0; n < 6; n += 1) queue.add(`a${n}`);
  const taken: (string | undefined)[] = [];
  for (let n = 0; n < 4; n += 1) void queue.take().then((key) => taken.push(key));
  await Promise.resolve();
  expect(taken).toEqual(["a0", "a1"]);
  queue.done("a0");
  await Promise.resolve();
  expect(taken).toEqual(["a0", "a1", "a2"]);
  queue.done("a1");
  queue.done("a2");
  await Promise.resolve();
  expect(taken).toEqual(["a0", "a1", "a2", "a3"]);
  void queue.take().then((key) => taken.push(key));
  void queue.take().then((key) => taken.push(key));
  await Promise.resolve();
  expect(taken).toEqual(["a0", "a1", "a2", "a3", "a4"]);
});

test("after shutdown every waiting worker ends, no retry is left, and none is accepted", async () => {
  const { clock, queue, drain } = scene();
  for (let n = 0; n <= 100; n += 1) queue.retry(`a${n}`, "vault");
  queue.retry("b", "vault", 60_000);
  queue.addAfter("c", 60_000);
  await clock.advance(1_000);
  await drain();
  const workers = [queue.take(), queue.take()];
  queue.shutdown();
  queue.retry("d", "vault");
  expect(await Promise.all(workers)).toEqual([undefined, undefined]);
  expect(queue.depth).toBe(0);
  expect(queue.retrying).toBe(0);
  expect(queue.failures("d")).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a retry waits neither for those of other connections, nor for those with other causes", async () => {
  const { clock, queue, drain } = scene();
  // Connection a, whose secrets cannot be read; the keys of one namespace.
  for (let n = 0; n < 900; n += 1) queue.retry(`a${n}`, "vault");
  queue.retry("a-conflict", "target");
  queue.retry("b-conflict", "target");
  await clock.advance(1_000);
  await drain();
  await clock.advance(300);
  const taken = await drain();
  expect(taken).toHaveLength(3);
  expect(taken).toEqual(expect.arrayContaining(["a-conflict", "b-conflict"]));
});
