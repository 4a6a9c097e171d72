import { expect, test } from "vitest";
import { promiseJobs, VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { WorkQueue, RetryGate } from "./work-queue.ts";
import { QueueLimits } from "./queue-limits.ts";

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

/** A gate and the keys that passed, with the time in milliseconds. */
function gateScene() {
  const clock = new VirtualClock(0, promiseJobs);
  const passed: [string, number][] = [];
  const gate = new RetryGate(
    clock,
    new QueueLimits(clock).retries,
    (key) => void passed.push([key, clock.monotonic()]),
  );
  const addMany = (group: string, count: number): void => {
    for (let n = 0; n < count; n += 1) gate.add(group, `${group}${n}`);
  };
  return { clock, passed, gate, addMany };
}

test("100 keys pass immediately, and every further one 100 ms after the one before", async () => {
  const { clock, passed, gate, addMany } = gateScene();
  addMany("a", 103);
  expect(passed.length).toBe(100);
  expect(gate.size).toBe(3);
  expect(clock.pending).toBe(1);
  await clock.advance(250);
  expect(passed.slice(100)).toEqual([
    ["a100", 100],
    ["a101", 200],
  ]);
  await clock.advance(50);
  expect(passed.length).toBe(103);
  expect(gate.size).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a quiet time admits 10 more keys per second, and never more than 100", async () => {
  const { clock, passed, addMany } = gateScene();
  addMany("a", 100);
  await clock.advance(3_000);
  addMany("b", 40);
  expect(passed).toHaveLength(130);
  await clock.advance(3_600_000);
  expect(passed).toHaveLength(140);
  addMany("c", 150);
  expect(passed).toHaveLength(240);
});

test("groups take turns in front of the gate", async () => {
  const { clock, passed, gate, addMany } = gateScene();
  addMany("a", 103);
  gate.add("b", "b0");
  await clock.advance(400);
  expect(passed.slice(100).map(([key]) => key)).toEqual(["a100", "b0", "a101", "a102"]);
});

test("a key that is added again has its last place only", async () => {
  const { clock, passed, gate, addMany } = gateScene();
  addMany("a", 102);
  gate.add("a", "again");
  gate.add("b", "again");
  await clock.advance(1_000);
  expect(passed.slice(100).map(([key]) => key)).toEqual(["a100", "again", "a101"]);
  gate.add("a", "later");
  await clock.advance(1_000);
  expect(passed.slice(103).map(([key]) => key)).toEqual(["later"]);
});

test("a removed key does not pass, and the last one leaves no timer", async () => {
  const { clock, passed, gate, addMany } = gateScene();
  addMany("a", 102);
  expect(gate.remove("a100")).toBe(true);
  expect(gate.remove("a100")).toBe(false);
  expect(gate.remove("a0")).toBe(false);
  expect(gate.size).toBe(1);
  expect(clock.pending).toBe(1);
  await clock.advance(100);
  expect(passed.at(-1)).toEqual(["a101", 100]);
  addMany("b", 1);
  expect(gate.remove("b0")).toBe(true);
  expect(gate.size).toBe(0);
  expect(clock.pending).toBe(0);
});

test("a key that moves to another group passes once", async () => {
  const { clock, passed, gate, addMany } = gateScene();
  addMany("a", 101);
  gate.add("b", "a100");
  expect(gate.size).toBe(1);
  await clock.advance(10_000);
  expect(passed.filter(([key]) => key === "a100")).toHaveLength(1);
});

test("after clear no key passes, no timer is left, and the tokens used stay used", async () => {
  const { clock, passed, gate, addMany } = gateScene();
  addMany("a", 105);
  gate.clear();
  expect(gate.size).toBe(0);
  expect(clock.pending).toBe(0);
  await clock.advance(200);
  addMany("b", 3);
  await clock.advance(10_000);
  expect(passed.slice(100)).toEqual([
    ["b0", 200],
    ["b1", 200],
    ["b2", 300],
  ]);
});
