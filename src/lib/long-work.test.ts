import { expect, test } from "vitest";
import { LongWork, type Loop } from "./long-work.ts";

/** A loop whose time passes only when work uses it or rests. */
class CountedLoop implements Loop {
  time = 0;
  readonly events: string[] = [];

  now(): number {
    return this.time;
  }

  async rest(ms: number): Promise<void> {
    this.events.push(`rest ${ms}`);
    this.time += ms;
  }

  next(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Runs steps of a piece of work. */
  async work(long: LongWork, name: string, steps: readonly number[]): Promise<void> {
    const slices = long.start();
    for (const ms of steps) {
      await slices.pause();
      this.events.push(`${name} ${ms}`);
      this.time += ms;
    }
  }
}

test("short work never waits for a turn", async () => {
  const loop = new CountedLoop();
  const long = new LongWork(loop);
  const slices = long.start();
  loop.time = 7;
  expect(slices.pause()).toBeUndefined();
  loop.time = 8;
  expect(slices.pause()).toBeInstanceOf(Promise);
});

test("pieces of long work take turns and rest as long as each of them ran", async () => {
  const loop = new CountedLoop();
  const long = new LongWork(loop);
  await Promise.all(["a", "b"].map((name) => loop.work(long, name, [10, 3, 6, 20])));
  const turns = loop.events.filter((event) => !event.endsWith(" 10"));
  expect(turns).toEqual(["a 3", "a 6", "rest 9", "b 3", "b 6", "rest 9", "a 20", "rest 20", "b 20"]);
});

test("short work continues in the next turn of the event loop when one has become long", async () => {
  const loop = new CountedLoop();
  const long = new LongWork(loop);
  const run = async (name: string): Promise<void> => {
    await long.shortTurn();
    loop.events.push(name);
    loop.time += 2;
  };
  expect([long.shortTurn(), ((loop.time = 3), long.shortTurn())]).toEqual([undefined, undefined]);
  loop.time = 4;
  const waiting = Promise.all(["a", "b", "c"].map(run));
  await Promise.resolve();
  expect(loop.events).toEqual([]);
  await loop.next();
  // Two milliseconds each.
  expect(loop.events).toEqual(["a", "b"]);
  await waiting;
  expect(loop.events).toEqual(["a", "b", "c"]);
});
