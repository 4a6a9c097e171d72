import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { TokenBucket } from "./token-bucket.ts";

/** Takes all tokens and returns their number. */
function drain(bucket: TokenBucket): number {
  let taken = 0;
  while (bucket.take()) taken += 1;
  return taken;
}

test("gives the burst, then so many tokens per second, and keeps at most the burst", async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket({ clock, perSecond: () => 10, burst: 3 });
  expect(bucket.nextInMs).toBe(0);
  expect(drain(bucket)).toBe(3);
  expect(bucket.nextInMs).toBe(100);
  await clock.advance(40);
  expect(bucket.take()).toBe(false);
  expect(Math.round(bucket.nextInMs)).toBe(60);
  await clock.advance(60);
  expect(drain(bucket)).toBe(1);
  await clock.advance(60_000);
  expect(drain(bucket)).toBe(3);
});

test("a fraction that rounding lost does not delay a token", async () => {
  const clock = new VirtualClock();
  const bucket = new TokenBucket({ clock, perSecond: () => 3, burst: 1 });
  bucket.take();
  for (let token = 0; token < 100; token += 1) {
    await clock.advance(bucket.nextInMs);
    expect(bucket.take()).toBe(true);
  }
});
