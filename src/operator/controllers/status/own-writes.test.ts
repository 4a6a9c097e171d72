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

describe("after a write of ours", () => {
  test("what was written counts until the watch shows it", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    expect(writes.newest("k", undefined)).toEqual(state("10"));
    expect(writes.newest("k", state("9"))).toEqual(state("10"));
    expect(writes.newest("k", state("10"))).toEqual(state("10"));
    // The watch has shown it: from now on it is believed, also when it says that the object is gone.
    expect(writes.newest("k", undefined)).toBeUndefined();
  });

  test("resourceVersions are compared as numbers, of any length", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("100"));
    expect(writes.newest("k", state("99"))).toEqual(state("100"));
    writes.recordWrite("l", state("18446744073709551616"));
    expect(writes.newest("l", state("18446744073709551615"))).toEqual(state("18446744073709551616"));
  });

  test("something newer than it is believed, also another object of the name", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    expect(writes.newest("k", state("11", "u2"))).toEqual(state("11", "u2"));
    expect(writes.newest("k", state("9"))).toEqual(state("9"));
  });

  test("where resourceVersions are no numbers, the watch is believed", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("b"));
    expect(writes.newest("k", state("a"))).toEqual(state("a"));
  });

  test("the watch is believed again after a while: the object may have gone in a gap of it", async () => {
    const { clock, writes } = setUp();
    writes.recordWrite("k", state("10"));
    await clock.advance(WATCH_LAG_MS - 1);
    expect(writes.newest("k", undefined)).toEqual(state("10"));
    await clock.advance(1);
    expect(writes.newest("k", undefined)).toBeUndefined();
  });

  test("a wall clock that jumps changes nothing", () => {
    const { clock, writes } = setUp();
    writes.recordWrite("k", state("10"));
    clock.stepWall(10 * WATCH_LAG_MS);
    expect(writes.newest("k", undefined)).toEqual(state("10"));
  });

  test("the watch's word that it is gone ends it", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    writes.forget("k");
    expect(writes.newest("k", undefined)).toBeUndefined();
  });
});

describe("after a deletion of ours", () => {
  test("the object is gone, although the watch still shows it", () => {
    const { writes } = setUp();
    writes.recordDelete("k", "u1");
    expect(writes.newest("k", state("10"))).toBeUndefined();
    expect(writes.newest("k", state("11"))).toBeUndefined();
  });

  test("another object of the name is there", () => {
    const { writes } = setUp();
    writes.recordDelete("k", "u1");
    expect(writes.newest("k", state("12", "u2"))).toEqual(state("12", "u2"));
  });

  test("the watch is believed again after a while: the deletion may wait for a finalizer", async () => {
    const { clock, writes } = setUp();
    writes.recordDelete("k", "u1");
    await clock.advance(WATCH_LAG_MS);
    expect(writes.newest("k", state("10"))).toEqual(state("10"));
  });
});

test("objects do not get in each other's way", () => {
  const { writes } = setUp();
  writes.recordWrite("k", state("10"));
  expect(writes.newest("other", undefined)).toBeUndefined();
  expect(writes.newest("other", state("3"))).toEqual(state("3"));
});
