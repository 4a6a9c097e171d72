import * as fc from "fast-check";
import { expect, test } from "vitest";
import { batches, repeated } from "./batches.ts";

test("batches contain every value once, in order, and have at most four sizes", () => {
  fc.assert(
    fc.property(fc.nat(700), (count) => {
      const values = Array.from({ length: count }, (_, index) => index);
      const split = [...batches(values)];
      expect(split.flat()).toEqual(values);
      for (const { length } of split) expect([128, 16, 4, 1]).toContain(length);
      expect(split.length).toBeLessThanOrEqual(Math.floor(count / 128) + 7 + 3 + 3);
    }),
  );
});

test("groups are separated by commas", () => {
  expect(repeated(3, (index) => `?${index + 3}`)).toBe("?3, ?4, ?5");
});
