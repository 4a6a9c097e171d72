import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { HoldTime } from "./hold-time.ts";

const HOUR = 3_600_000;

/** Returns the hold in seconds after each of these cuts, in ms after which they happened. */
function afterCuts(...cuts: readonly number[]): number[] {
  const hold = new HoldTime(new VirtualClock());
  return cuts.map((afterMs) => {
    hold.cut(afterMs);
    return hold.seconds;
  });
}

test("a cut shortens the hold to a second less than it lasted, to a half at most", () => {
  expect(afterCuts(30_000)).toEqual([29]);
  expect(afterCuts(15_000, 15_000)).toEqual([25, 14]);
  expect(afterCuts(2_000)).toEqual([25]);
});

test("a request that ends at its deadline halves the hold", () => {
  expect(afterCuts(60_000, 35_000)).toEqual([25, 12]);
});

test("a path that cuts requests before 6 s holds none", () => {
  expect(afterCuts(6_000, 6_000, 6_000, 6_000)).toEqual([25, 12, 6, 5]);
  expect(afterCuts(4_000, 4_000, 4_000, 4_000)).toEqual([25, 12, 6, 0]);
});

test("a longer hold is tried an hour after the last cut, and each hour up to the longest", async () => {
  const clock = new VirtualClock();
  const hold = new HoldTime(clock);
  for (let cut = 0; cut < 4; cut += 1) hold.cut(4_000);
  const seconds = [hold.seconds];
  await clock.advance(HOUR - 1);
  seconds.push(hold.seconds);
  await clock.advance(1);
  for (let hour = 0; hour < 6; hour += 1) {
    seconds.push(hold.seconds);
    await clock.advance(HOUR);
  }
  expect(seconds).toEqual([0, 0, 5, 10, 20, 40, 50, 50]);
});
