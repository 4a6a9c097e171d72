import { expect, test } from "vitest";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { RateLimiter } from "./rate-limiter.ts";

const signal = new AbortController().signal;

/** When each of so many calls may go, in milliseconds from now. */
async function moments(limiter: RateLimiter, clock: VirtualClock, calls: number): Promise<number[]> {
  const start = clock.monotonic();
  const gone: number[] = [];
  const all = Array.from({ length: calls }, () => limiter.take(signal).then(() => gone.push(clock.monotonic() - start)));
  await clock.advance(60_000);
  await Promise.all(all);
  return gone;
}

test("a burst of twice the rate goes at once, the rest in order at the rate", async () => {
  const clock = new VirtualClock();
  expect(await moments(new RateLimiter(2, clock), clock, 7)).toEqual([0, 0, 0, 0, 500, 1_000, 1_500]);
});

test("rests fill the bucket, to a burst and no further", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(2, clock);
  await moments(limiter, clock, 4);
  await clock.advance(3_600_000);
  expect(await moments(limiter, clock, 5)).toEqual([0, 0, 0, 0, 500]);
});

test("a refusal halves the rate and ends the burst; successes win it back", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(2, clock);
  limiter.throttled();
  expect(await moments(limiter, clock, 2)).toEqual([1_000, 2_000]);
  for (let success = 0; success < 10; success += 1) limiter.succeeded();
  await clock.advance(60_000);
  expect(await moments(limiter, clock, 6)).toEqual([0, 0, 0, 0, 500, 1_000]);
});

test("the rate never falls below a sixteenth", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(2, clock);
  for (let refusal = 0; refusal < 50; refusal += 1) limiter.throttled();
  expect(await moments(limiter, clock, 1)).toEqual([8_000]);
});

test("who gives up while waiting is told so by the signal's reason", async () => {
  const clock = new VirtualClock();
  const limiter = new RateLimiter(0.25, clock);
  const abort = new AbortController();
  const failure = failureOf(limiter.take(abort.signal));
  abort.abort(new Error("enough"));
  expect(await failure).toMatchObject({ message: "enough" });
  expect(clock.pending).toBe(0);
});
