import { describe, expect, test } from "vitest";
import {
  INTERVAL,
  names,
  type RemovalsConnection,
  RemovalsVault,
  alone,
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

const [ANN, EVE] = ["ann@example.com", "eve@example.com"];
const ofAnn = { owner: ANN };

/** Shows names that these owners have from now on. */
function owned(one: RemovalsConnection, shown: readonly string[], ...owners: string[]): number {
  for (const name of shown) one.owners.set(name, owners);
  return one.list(shown, []);
}

/** Returns a connection that lists names of both owners; targets have the bytes of Ann's. */
function shared(count: number): RemovalsConnection {
  const one = alone();
  for (const name of names(count)) one.fed.add(`${name} ${ANN}`);
  owned(one, names(count), ANN, EVE);
  return one;
}

describe("an entry that disappears while another owner's of its name is listed", () => {
  test("is lost on the same proof as a name", () => {
    const one = shared(10);
    expect(owned(one, ["n0"], EVE)).toBe(0);
    expect(one.untilProven("n0")).toBe(Infinity);
    expect(one.untilProven("n0", "secret", ofAnn)).toBe(2 * INTERVAL);
    for (const _ of [1, 2]) one.list([], []);
    expect(one.untilProven("n0", "secret", ofAnn)).toBe(0);
    owned(one, ["n0"], "Ann@example.com", EVE);
    owned(one, ["n0"], EVE);
    expect(one.untilProven("n0", "secret", ofAnn)).toBe(2 * INTERVAL);
  });

  test("stays lost when the other one disappears and returns", () => {
    const one = shared(10);
    owned(one, ["n0"], EVE);
    one.list([], ["n0"]);
    expect(one.untilProven("n0", "secret", ofAnn)).toBe(INTERVAL);
    expect(one.untilProven("n0")).toBe(2 * INTERVAL);
    owned(one, ["n0"], EVE);
    expect(one.untilProven("n0", "secret", ofAnn)).toBe(0);
  });

  test("is absent for at least as long as its name", () => {
    const one = shared(10);
    one.list([], ["n0"]);
    one.list([], []);
    expect(one.untilProven("n0", "secret", ofAnn)).toBe(INTERVAL);
  });

  test.each([
    ["without a deadline", 0, 4],
    ["at its deadline", 2 * INTERVAL, 5],
  ])("counts with the names that disappear, %s", (_, deadline, retained) => {
    const one = shared(20);
    for (const name of names(20)) if (deadline > 0) one.deadlines.set(name, deadline);
    one.list(names(20), []);
    for (const name of names(5)) one.retained.add(deadline > 0 ? name : `${name} due`);
    expect(owned(one, names(4), EVE)).toBe(0);
    expect(owned(one, ["n4"], EVE)).toBe(5);
    expect(owned(one, names(5 - retained, retained), ANN, EVE)).toBe(retained);
  });

  test("is not due at the deadline of the other one", () => {
    const one = shared(20);
    for (const name of names(20)) one.deadlines.set(`${name} ${EVE}`, 2 * INTERVAL);
    one.list(names(20), []);
    for (const name of names(20)) one.retained.add(`${name} due`);
    expect(one.list([], names(5))).toBe(5);
  });

  test("does not count if no target has its bytes", () => {
    const one = shared(20);
    one.fed.clear();
    expect(owned(one, names(20), EVE)).toBe(0);
  });

  test("counts when its proof is asked for, if no list showed it", () => {
    const one = alone();
    owned(one, names(10), EVE);
    for (const name of names(5)) one.fed.add(`${name} ${ANN}`);
    const left = names(5).map((name) => one.untilProven(name, "secret", ofAnn));
    expect(left).toEqual(names(5).map(() => 2 * INTERVAL));
    expect([one.removals.held, one.heldByOthers]).toEqual([5, 1]);
  });

  test("is held when its proof is asked for during a hold, however small its part is", () => {
    const one = alone();
    owned(one, names(20), EVE);
    expect(one.list([], names(10))).toBe(10);
    expect(one.list(names(500, 100), [])).toBe(10);
    one.fed.add(`n10 ${ANN}`);
    one.untilProven("n10", "secret", ofAnn);
    expect([one.removals.held, one.heldByOthers]).toEqual([11, 1]);
  });

  test("raises the number when its proof is asked for, while removals are held", () => {
    const one = alone();
    owned(one, names(20), EVE);
    expect(one.list([], names(10))).toBe(10);
    for (const name of names(2, 10)) one.fed.add(`${name} ${ANN}`);
    for (const name of names(2, 10)) one.untilProven(name, "secret", ofAnn);
    expect([one.removals.held, one.heldByOthers]).toEqual([12, 2]);
  });

  test("does not count when its proof is asked for, if no target has its bytes", () => {
    const one = alone();
    owned(one, names(10), EVE);
    for (const name of names(10)) one.untilProven(name, "secret", ofAnn);
    expect([one.removals.held, one.heldByOthers]).toEqual([0, 0]);
  });
});
