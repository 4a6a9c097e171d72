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
  await expect(slots.run(never, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
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
