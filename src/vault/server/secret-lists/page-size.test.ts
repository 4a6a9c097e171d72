import { expect, test } from "vitest";
import { PageSize } from "./page-size.ts";

/** Returns the sizes of the first pages of a list whose entries have metadata of this length. */
function sizes(length: number, pages = 6): number[] {
  const size = new PageSize(500);
  return Array.from({ length: pages }, () => {
    const { next } = size;
    size.seen(Array.from({ length: next }, () => length));
    return next;
  });
}

test("pages of short metadata grow to the maximum, and pages of long metadata shrink", () => {
  expect(sizes(100)).toEqual([8, 32, 128, 500, 500, 500]);
  expect(sizes(64 * 1024)).toEqual([8, 4, 4, 4, 4, 4]);
  expect(sizes(1024 * 1024)).toEqual([8, 1, 1, 1, 1, 1]);
});
