import { describe, expect, test } from "vitest";
import {
  alone,
  INTERVAL,
  names,
  RULE,
  type RemovalsConnection,
  RemovalsVault,
} from "../../../../test/lab/simulated/removals-scene.ts";

/** Returns a connection with a rule that requests metadata and found `count` names. */
function ruled(count: number): RemovalsConnection {
  const one = alone();
  one.hasRules = true;
  one.list(names(count), []);
  return one;
}

describe("a rule that requests metadata", () => {
  test("loses a name whose metadata changed on the same proof as a name that is gone", () => {
    const one = ruled(10);
    expect(one.list(["n0"], [], { isProd: false })).toBe(0);
    expect(one.untilProven("n0")).toEqual(Infinity);
    expect(one.untilProven("n0", "secret", { rule: RULE })).toBe(2 * INTERVAL);
    for (const _ of [1, 2]) one.list([], []);
    expect(one.untilProven("n0", "secret", { rule: RULE })).toBe(0);
    one.list(["n0"], []);
  });

  test("holds the names that it loses together, once each", () => {
    const one = ruled(20);
    expect(one.list(names(4), [], { isProd: false })).toBe(0);
    expect(one.list(["n4"], [], { isProd: false })).toBe(5);
    expect(one.list([], ["n4"])).toBe(5);
    expect(one.list(names(4), [])).toBe(1);
  });

  test.each([
    [24, 5],
    [25, 0],
  ])("is compared with the listed names: five of %d, %d held", (all, held) => {
    expect(ruled(all).list(names(5), [], { isProd: false })).toBe(held);
  });

  test("that no list was compared with begins its proof when it is asked for", () => {
    const one = alone();
    one.list(names(1), [], { isProd: false });
    expect(one.untilProven("n0", "secret", { rule: RULE })).toBe(2 * INTERVAL);
    for (const _ of [1, 2]) one.list([], []);
    expect(one.untilProven("n0", "secret", { rule: RULE })).toBe(0);
  });

  test("loses with the first list what it found before, as the targets show", () => {
    const one = alone();
    one.hasRules = true;
    for (const name of names(5)) one.claimed.add(name);
    expect(one.list(names(10), [], { isProd: false })).toBe(5);
  });

  test("loses nothing that it did not find", () => {
    const one = alone();
    one.list(names(10), [], { isProd: false });
    one.hasRules = true;
    for (const name of names(10)) one.claimed.add(name);
    expect(one.list(names(10), [], { isProd: false })).toBe(0);
  });
});

describe("a hold that an earlier client published", () => {
  test("holds what the first list lacks, however little", () => {
    const one = new RemovalsVault().connection({ wasHeld: true });
    one.served.add("secret n0");
    expect(one.removals.isResuming).toBe(true);
    expect(one.list(names(20, 1), ["n0"])).toBe(1);
    expect(one.removals.isResuming).toBe(false);
    expect(one.list(["n0"], [])).toBe(0);
    expect(one.list([], ["n1"])).toBe(0);
    expect(alone().removals.isResuming).toBe(false);
  });

  test("waits for the first list of files if there are any", () => {
    const one = new RemovalsVault().connection({ wasHeld: true });
    one.hasFiles = true;
    one.served.add("file f");
    one.list(["a"], []);
    expect(one.removals.isResuming).toBe(true);
    expect(one.list(["g"], ["f"], { kind: "file" })).toBe(1);
    expect(one.removals.isResuming).toBe(false);
  });
});
