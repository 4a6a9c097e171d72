import { expect, test } from "vitest";
import { promiseJobs, VirtualClock } from "./virtual-clock.ts";

test("a virtual clock advances both clocks only on request", async () => {
  const clock = new VirtualClock(1_000);
  await clock.advance(250);
  expect(clock.now()).toBe(1_250);
  expect(clock.monotonic()).toBe(250);
});

test("advance fires timers in order at their deadlines, also those created meanwhile", async () => {
  const clock = new VirtualClock();
  const seen: [string, number][] = [];
  const note = (name: string) => (): void => void seen.push([name, clock.monotonic()]);
  clock.timer(20, note("second"));
  clock.timer(10, () => {
    note("first")();
    clock.timer(5, note("nested"));
  });
  clock.timer(31, note("too late"));
  await clock.advance(30);
  expect(seen).toEqual([
    ["first", 10],
    ["nested", 15],
    ["second", 20],
  ]);
  expect(clock.nextIn).toBe(1);
});

test("a disposed timer never fires, and an aborted sleep rejects with the signal's reason", async () => {
  const clock = new VirtualClock();
  const timer = clock.timer(10, () => expect.unreachable());
  timer[Symbol.dispose]();
  const abort = new AbortController();
  const slept = clock.sleep(10, abort.signal);
  abort.abort(new Error("enough"));
  await expect(slept).rejects.toThrow("enough");
  await clock.advance(20);
  expect(clock.pending).toBe(0);
});

test("an abort ends the sleeps on its signal that have not ended, and none begins", async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const slept = [5, 20, 30].map((ms) => clock.sleep(ms, abort.signal));
  await clock.advance(10);
  abort.abort(new Error("enough"));
  const ends = await Promise.allSettled([...slept, clock.sleep(1, abort.signal)]);
  expect(ends.map(({ status }) => status)).toEqual([
    "fulfilled",
    "rejected",
    "rejected",
    "rejected",
  ]);
  expect(clock.pending).toBe(0);
});

test("a sleep ends after its time", async () => {
  const clock = new VirtualClock();
  const ends: number[] = [];
  const slept = clock.sleep(10).then(() => ends.push(clock.monotonic()));
  await clock.advance(9);
  expect(ends).toEqual([]);
  await clock.advance(1);
  await slept;
  expect(ends).toEqual([10]);
});

test("the wall clock can jump without the monotonic clock", () => {
  const clock = new VirtualClock(5_000);
  clock.stepWall(-3_600_000);
  expect(clock.now()).toEqual(5_000 - 3_600_000);
  expect(clock.monotonic()).toBe(0);
});

// Node runs ticks before promise jobs after a callback of the event loop: an episode depended on
// where it was started.
test("promise jobs run before the first timer, also in a callback of the event loop", async () => {
  const clock = new VirtualClock(undefined, promiseJobs);
  const fired = Promise.withResolvers<number>();
  setImmediate(() => {
    const start = async (): Promise<void> => {
      for (let job = 0; job < 5; job += 1) await Promise.resolve();
      clock.timer(1, () => fired.resolve(clock.monotonic()));
    };
    void start();
    void clock.advance(10).then(() => fired.resolve(-1));
  });
  expect(await fired.promise).toBe(1);
});
