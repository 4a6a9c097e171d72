import { describe, expect, test } from "vitest";
import {
  INTERVAL,
  names,
  type RemovalsConnection,
  RemovalsVault,
} from "../../../../test/lab/simulated/removals-scene.ts";

/** A resource has read its target: it has bytes of these names. */
const read = (one: RemovalsConnection, its: readonly string[]): number[] =>
  its.map((name) => one.untilProven(name, "secret", undefined, true));

/** A connection with other names, whose first list lacks these. */
function lacking(missing: readonly string[], options: { wasHeld?: boolean } = {}) {
  const one = new RemovalsVault().connection(options);
  one.list(["other"], missing);
  return one;
}

// Found by the simulation, with --target-watch=off: many keys were removed that no one had confirmed.
describe("names that the first list lacks, and whose targets were not read yet,", () => {
  test("count when targets turn out to have their bytes: their absence begins then", () => {
    const one = lacking(names(5));
    for (const _ of [1, 2, 3]) one.list([], []);
    expect(one.removals.held).toBe(0);
    expect(one.untilProven("n0")).toBe(0);
    expect(read(one, names(4))).toEqual(names(4).map(() => 2 * INTERVAL));
    expect(one.removals.held).toBe(0);
    expect(read(one, ["n4"])).toEqual([2 * INTERVAL]);
    expect(one.removals.held).toBe(5);
    expect(one.heldByOthers).toBe(1);
  });

  test("are removed without a hold if they are few", () => {
    const one = lacking(names(4));
    read(one, names(4));
    for (const _ of [1, 2]) one.list([], []);
    expect(read(one, names(4))).toEqual([0, 0, 0, 0]);
    expect(one.removals.held).toBe(0);
  });

  test("do not count where no target has bytes", () => {
    const one = lacking(names(9));
    for (const name of names(9)) one.untilProven(name);
    one.list([], ["other"]);
    expect(one.removals.held).toBe(0);
  });

  test("are held, however few, if an earlier client held removals", () => {
    const one = lacking(names(2), { wasHeld: true });
    read(one, names(2));
    expect(one.removals.held).toBe(2);
    one.list(["new"], []);
    one.list([], ["new"]);
    expect(one.removals.held).toBe(3);
  });

  test("do not continue a hold if they are missing since a later list", () => {
    const one = lacking([], { wasHeld: true });
    one.list([], names(2));
    read(one, names(2));
    expect(one.removals.held).toBe(0);
  });

  test("count until they are listed again", () => {
    const one = lacking(names(5));
    read(one, names(5));
    expect(one.list(names(5), [])).toBe(0);
  });

  test("count with the entries of an owner while another one shares the names", () => {
    const one = lacking(names(5));
    const selection = { owner: "ann@example.com" };
    for (const name of names(5)) one.untilProven(name, "secret", selection, true);
    expect(one.removals.held).toBe(5);
  });
});
