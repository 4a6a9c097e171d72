import { expect, test } from "vitest";
import { VirtualClock } from "../../../test/lab/clock/virtual-clock.ts";
import { EditWindows } from "./edit-windows.ts";

/** Edits one resource at these times and returns the delays of its reconciles. */
async function delaysOf(times: readonly number[], random = 1): Promise<number[]> {
  const clock = new VirtualClock();
  const edits = new EditWindows(clock, () => random);
  const delays: number[] = [];
  for (const at of times) {
    await clock.advance(at - clock.monotonic());
    delays.push(edits.delay("shop/db"));
  }
  return delays;
}

test.each([
  ["edits of a short time share one reconcile", [0, 10, 20, 249], [0, 240, 230, 1]],
  ["an edit after the window is handled immediately", [0, 250, 750, 2_000], [0, 0, 0, 0]],
  [
    "an edit each second is handled every four seconds",
    [0, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 10_000],
    [0, 0, 0, 0, 1_000, 3_000, 1_000, 3_000],
  ],
  [
    "an edit after a rest is handled immediately, and begins a short window",
    [0, 1, 250, 251, 4_750, 4_751],
    [0, 249, 500, 499, 0, 249],
  ],
])("%s", async (_, times, delays) => {
  expect(await delaysOf(times)).toEqual(delays);
});

test("a window takes half of its time or more", async () => {
  expect(await delaysOf([0, 1, 126, 376], 0)).toEqual([0, 124, 249, 499]);
});

test("resources at rest are forgotten", async () => {
  const clock = new VirtualClock();
  const edits = new EditWindows(clock, () => 1);
  for (let index = 0; index < 1_000; index += 1) edits.delay(`shop/${index}`);
  edits.delay("shop/0");
  await clock.advance(4_250);
  edits.delay("shop/db");
  expect(edits.size).toBe(1);
});
