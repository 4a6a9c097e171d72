import { expect, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { RateLimiter } from "./rate-limiter.ts";

const signal = new AbortController().signal;

/** Returns when each of so many requests is admitted, in milliseconds from now. */
async function admissions(limiter: RateLimiter, clock: VirtualClock, requests: number): Promise<number[]> {
  const start = clock.monotonic();
  const admitted: number[] = [];
  const all = Array.from({ length: requests }, () => limiter.take(signal).then(() => admitted.push(clock.monotonic() - start)));
  await clock.advance(60_000);
  await Promise.all(all);
  return admitted;
}

test("admits a burst of twice the rate immediately and the rest in order at the rate", async () => {
  const clock = new VirtualClock();
  expect(await admissions(new RateLimiter(2, clock), clock, 7)).toEqual([0, 0, 0, 0, 500, 1_000, 1_500]);
});

test("an idle time fills the bucket up to one burst", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(2, clock);
  await admissions(limiter, clock, 4);
  await clock.advance(3_600_000);
  expect(await admissions(limiter, clock, 5)).toEqual([0, 0, 0, 0, 500]);
});

test("a 429 halves the rate and ends the burst; successes restore them", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(2, clock);
  limiter.throttled();
  expect(await admissions(limiter, clock, 2)).toEqual([1_000, 2_000]);
  for (let success = 0; success < 10; success += 1) limiter.succeeded();
  await clock.advance(60_000);
  expect(await admissions(limiter, clock, 6)).toEqual([0, 0, 0, 0, 500, 1_000]);
});

test("the rate never falls below a sixteenth of the full rate", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(2, clock);
  for (let times = 0; times < 50; times += 1) limiter.throttled();
  expect(await admissions(limiter, clock, 1)).toEqual([8_000]);
});

test("without a rate nothing waits, also after a 429", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(Infinity, clock);
  limiter.throttled();
  limiter.succeeded();
  expect(await admissions(limiter, clock, 3)).toEqual([0, 0, 0]);
  await expect(limiter.take(AbortSignal.abort(new Error("aborted")))).rejects.toThrow("aborted");
});

test("an aborted waiter rejects with the reason of its signal", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(0.25, clock);
  const abort = new AbortController();
  const failure = failureOf(limiter.take(abort.signal));
  abort.abort(new Error("aborted"));
  expect(await failure).toMatchObject({ message: "aborted" });
  expect(clock.pending).toBe(0);
});
