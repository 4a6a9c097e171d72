import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Backoff } from "./backoff.ts";

const least = (): number => 0;
const most = (): number => 1 - Number.EPSILON;

test("the delay doubles up to the maximum, and jitter shortens it by at most half", () => {
  const low = new Backoff({ baseMs: 1_000, maxMs: 5_000 }, least);
  const high = new Backoff({ baseMs: 1_000, maxMs: 5_000 }, most);
  expect([1, 2, 3, 4, 5].map(() => low.next())).toEqual([500, 1_000, 2_000, 2_500, 2_500]);
  expect([1, 2, 3, 4, 5].map(() => Math.round(high.next()))).toEqual([
    1_000, 2_000, 4_000, 5_000, 5_000,
  ]);
});

test("reset starts the count of failures and the delays again", () => {
  const backoff = new Backoff({ baseMs: 100, maxMs: 1_000, factor: 3 }, least);
  backoff.next();
  backoff.next();
  expect(backoff.failures).toBe(2);
  backoff.reset();
  expect(backoff.failures).toBe(0);
  expect(backoff.next()).toBe(50);
  expect(backoff.next()).toBe(150);
  expect(backoff.next()).toBe(450);
});

test("for any number of failures the delay is between half the base and the maximum", () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      chance,
      fc.integer({ min: 1, max: 1_000 }),
      fc.integer({ min: 1, max: 400 }),
      (random, baseMs, failures) => {
        const backoff = new Backoff({ baseMs, maxMs: 300_000 }, () => random);
        for (let count = 0; count < failures; count += 1) {
          const delay = backoff.next();
          expect(delay).toBeGreaterThanOrEqual(baseMs / 2);
          expect(delay).toBeLessThanOrEqual(300_000);
        }
      },
    ),
  );
});
