import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { OwnWrites, WATCH_LAG_MS } from "./own-writes.ts";

interface State {
  readonly uid: string;
  readonly resourceVersion: string;
}
const state = (resourceVersion: string, uid = "u1"): State => ({ uid, resourceVersion });

function setUp() {
  const clock = new VirtualClock();
  return { clock, writes: new OwnWrites<State>(clock) };
}

describe("OwnWrites after a write", () => {
  test("returns the written object until the watch shows it", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    expect(writes.newest("k", undefined)).toEqual(state("10"));
    expect(writes.newest("k", state("9"))).toEqual(state("10"));
    expect(writes.newest("k", state("10"))).toEqual(state("10"));
    // The watch has shown the write: from now on it is trusted, also about a deletion.
    expect(writes.newest("k", undefined)).toBeUndefined();
  });

  test("compares resourceVersions as numbers of any length", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("100"));
    expect(writes.newest("k", state("99"))).toEqual(state("100"));
    writes.recordWrite("l", state("18446744073709551616"));
    expect(writes.newest("l", state("18446744073709551615"))).toEqual(state("18446744073709551616"));
  });

  test("returns a newer object of the watch, also one with another uid", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    expect(writes.newest("k", state("11", "u2"))).toEqual(state("11", "u2"));
    expect(writes.newest("k", state("9"))).toEqual(state("9"));
  });

  test("trusts the watch if resourceVersions are not numbers", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("b"));
    expect(writes.newest("k", state("a"))).toEqual(state("a"));
  });

  test("trusts the watch after the lag limit, as the object may have been deleted in a gap", async () => {
    const { clock, writes } = setUp();
    writes.recordWrite("k", state("10"));
    await clock.advance(WATCH_LAG_MS - 1);
    expect(writes.newest("k", undefined)).toEqual(state("10"));
    await clock.advance(1);
    expect(writes.newest("k", undefined)).toBeUndefined();
  });

  test("is independent of the wall clock", () => {
    const { clock, writes } = setUp();
    writes.recordWrite("k", state("10"));
    clock.stepWall(10 * WATCH_LAG_MS);
    expect(writes.newest("k", undefined)).toEqual(state("10"));
  });

  test("forgets the write when the watch shows the deletion", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    writes.forget("k");
    expect(writes.newest("k", undefined)).toBeUndefined();
  });
});

describe("OwnWrites after a deletion", () => {
  test("returns nothing although the watch still shows the object", () => {
    const { writes } = setUp();
    writes.recordDelete("k", "u1");
    expect(writes.newest("k", state("10"))).toBeUndefined();
    expect(writes.newest("k", state("11"))).toBeUndefined();
  });

  test("returns a new object of the same name", () => {
    const { writes } = setUp();
    writes.recordDelete("k", "u1");
    expect(writes.newest("k", state("12", "u2"))).toEqual(state("12", "u2"));
  });

  test("trusts the watch after the lag limit, as the deletion may wait for a finalizer", async () => {
    const { clock, writes } = setUp();
    writes.recordDelete("k", "u1");
    await clock.advance(WATCH_LAG_MS);
    expect(writes.newest("k", state("10"))).toEqual(state("10"));
  });
});

test("OwnWrites keeps objects apart", () => {
  const { writes } = setUp();
  writes.recordWrite("k", state("10"));
  expect(writes.newest("other", undefined)).toBeUndefined();
  expect(writes.newest("other", state("3"))).toEqual(state("3"));
});
