import { expect, test } from "vitest";
import { LongWork, type Loop } from "./long-work.ts";

/** A loop whose time passes only when work uses it or rests. */
class CountedLoop implements Loop {
  time = 0;
  /** Share of each rest that others use. */
  used = 1;
  /** Notes a use by others in each turn that they get. */
  others: (() => void) | undefined;
  readonly events: string[] = [];

  now(): number {
    return this.time;
  }

  async rest(ms: number): Promise<number> {
    this.events.push(`rest ${ms}`);
    this.time += ms;
    this.others?.();
    return this.used;
  }

  ended(): Promise<void> {
    return this.next();
  }

  async next(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.others?.();
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
  loop.time = 3;
  expect(slices.pause()).toBeUndefined();
  loop.time = 4;
  expect(slices.pause()).toBeInstanceOf(Promise);
});

test("pieces of long work take turns and rest as long as each of them ran", async () => {
  const loop = new CountedLoop();
  const long = new LongWork(loop);
  loop.others = () => long.noteUse();
  await Promise.all(["a", "b"].map((name) => loop.work(long, name, [10, 3, 6, 20])));
  const turns = loop.events.filter((event) => !event.endsWith(" 10"));
  expect(turns.join()).toBe("a 3,a 6,rest 2,rest 7,b 3,b 6,rest 2,rest 7,a 20,rest 2,rest 18,b 20");
});

test("long work rests only while others use the event loop, and until 50 ms after that", async () => {
  const loop = new CountedLoop();
  const long = new LongWork(loop);
  await loop.work(long, "a", [8, 8, 8]);
  loop.used = 0.1;
  loop.others = () => long.noteUse();
  await loop.work(long, "b", [8, 8, 8]);
  loop.others = undefined;
  await loop.work(long, "c", [30, 30, 30, 30]);
  // A tenth is no reason for a longer rest.
  expect(loop.events.join()).toBe(
    "a 8,a 8,a 8,b 8,rest 2,b 8,rest 2,b 8,c 30,rest 2,c 30,c 30,c 30",
  );
});

test("short work continues in the next turn of the event loop when one has become long", async () => {
  const loop = new CountedLoop();
  const long = new LongWork(loop);
  const run = async (name: string): Promise<void> => {
    await long.shortTurn();
    loop.events.push(name);
    loop.time += 2;
  };
  expect(long.shortTurn()).toBeUndefined();
  expect(((loop.time = 3), long.shortTurn())).toBeUndefined();
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

test("work that others wait for runs after one piece of other work at most", async () => {
  const loop = new CountedLoop();
  const long = new LongWork(loop);
  const stream = async (name: string): Promise<void> => {
    for (let piece = 1; piece <= 3; piece += 1) {
      await long.turn();
      loop.events.push(name);
    }
  };
  await Promise.all([stream("a"), stream("b"), loop.work(long, "held", [8, 8, 8])]);
  expect(loop.events).toEqual(["held 8", "held 8", "a", "held 8", "b", "a", "b", "a", "b"]);
});

test("background work rests as long as it took, while others use the event loop", async () => {
  const loop = new CountedLoop();
  const long = new LongWork(loop);
  loop.others = () => long.noteUse();
  await long.background(() => loop.work(long, "sweep", [30]));
  expect(loop.events).toEqual(["sweep 30", "rest 2", "rest 28"]);
});
