import { expect, test } from "vitest";
import { Slots } from "./slots.ts";

const never = new AbortController().signal;

/** Starts pieces of work that end when the test says so. */
function scene(count: number) {
  const slots = new Slots(count);
  const started: string[] = [];
  const end = new Map<string, () => void>();
  const start = (name: string, signal = never): Promise<void> =>
    slots.run(signal, () => {
      started.push(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      end.set(name, resolve);
      return promise;
    });
  return { started, start, finish: (name: string) => end.get(name)?.() };
}

test("Slots runs at most the given number of works, and the others in order", async () => {
  const { started, start, finish } = scene(2);
  const all = ["a", "b", "c", "d"].map((name) => start(name));
  await Promise.resolve();
  expect(started).toEqual(["a", "b"]);
  finish("b");
  await all[1];
  await Promise.resolve();
  expect(started).toEqual(["a", "b", "c"]);
  finish("a");
  await all[0];
  await Promise.resolve();
  expect(started).toEqual(["a", "b", "c", "d"]);
});

test("Slots frees the slot of work that fails", async () => {
  const slots = new Slots(1);
  await expect(slots.run(never, () => Promise.reject(new Error("failed")))).rejects.toThrow(
    "failed",
  );
  await expect(slots.run(never, () => Promise.resolve(1))).resolves.toBe(1);
});

test("Slots forgets an aborted wait, and rejects with the signal's reason", async () => {
  const { started, start, finish } = scene(1);
  const abort = new AbortController();
  const first = start("a");
  const second = start("b", abort.signal);
  const third = start("c");
  abort.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  await expect(start("d", abort.signal)).rejects.toThrow("left");
  finish("a");
  await first;
  await Promise.resolve();
  finish("c");
  await third;
  expect(started).toEqual(["a", "c"]);
});

test("Slots lets parties take turns, whatever the number of works of each", async () => {
  const slots = new Slots(1);
  const started: string[] = [];
  const all = ["a1", "a2", "a3", "b1", "b2", "c1"].map((name) =>
    slots.run(never, () => Promise.resolve(started.push(name)), name.slice(0, 1)),
  );
  await Promise.all(all);
  expect(started).toEqual(["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("Slots gives a party no more than its share, and its places to others meanwhile", async () => {
  const slots = new Slots(8, 3);
  const got: string[] = [];
  const take = (name: string, size: number): Promise<number> =>
    slots.take(never, name.slice(0, 1), size).then(() => got.push(name));
  const waiting = [take("a1", 2), take("a2", 2), take("b1", 3)];
  await Promise.resolve();
  await Promise.resolve();
  expect(got).toEqual(["a1", "b1"]);
  expect(slots.tryTake("a", 2)).toBe(false);
  expect(slots.tryTake("a", 1)).toBe(true);
  expect(slots.tryTake("b", 1)).toBe(false);
  expect(slots.tryTake("c", 3)).toBe(false);
  slots.release("a", 3);
  await Promise.all(waiting);
  expect(got).toEqual(["a1", "b1", "a2"]);
});

test("Slots serves a large work before later small ones", async () => {
  const slots = new Slots(4);
  const got: string[] = [];
  await slots.take(never, "a", 3);
  const large = slots.take(never, "b", 4).then(() => got.push("large"));
  const abort = new AbortController();
  const left = slots.take(abort.signal, "c", 1);
  const small = slots.take(never, "d", 1).then(() => got.push("small"));
  abort.abort(new Error("left"));
  await expect(left).rejects.toThrow("left");
  expect(got).toEqual([]);
  slots.release("a", 3);
  await large;
  expect(got).toEqual(["large"]);
  slots.release("b", 4);
  await small;
});
