import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { isAheadOfWatch, OwnWrites, WATCH_LAG_MS } from "./own-writes.ts";

interface State {
  readonly uid: string;
  readonly resourceVersion: string;
}
const state = (resourceVersion: string, uid = "u1"): State => ({ uid, resourceVersion });
const NOW = 1_000_000;

const isWriteAhead = (wrote: State, watched: State | undefined, age = 0): boolean =>
  isAheadOfWatch({ at: NOW - age, wrote }, watched, NOW);
const isDeletionAhead = (watched: State | undefined, age = 0): boolean =>
  isAheadOfWatch({ at: NOW - age, deletedUid: "u1" }, watched, NOW);

function setUp() {
  const clock = new VirtualClock();
  return { clock, writes: new OwnWrites<State>(clock) };
}

describe("isAheadOfWatch of a write", () => {
  test("is true until the watch shows the object", () => {
    expect(isWriteAhead(state("10"), undefined)).toBe(true);
    expect(isWriteAhead(state("10"), state("9"))).toBe(true);
    expect(isWriteAhead(state("10"), state("10"))).toBe(false);
  });

  test("compares resourceVersions as numbers of any length", () => {
    expect(isWriteAhead(state("100"), state("99"))).toBe(true);
    expect(isWriteAhead(state("18446744073709551616"), state("18446744073709551615"))).toBe(true);
  });

  test("is false for a newer object of the watch, also one with another uid", () => {
    expect(isWriteAhead(state("10"), state("11"))).toBe(false);
    expect(isWriteAhead(state("10"), state("11", "u2"))).toBe(false);
  });

  test("is false if resourceVersions are not numbers", () => {
    expect(isWriteAhead(state("b"), state("a"))).toBe(false);
  });

  test("is false after the lag limit, as the object may have been deleted in a gap", () => {
    expect(isWriteAhead(state("10"), undefined, WATCH_LAG_MS - 1)).toBe(true);
    expect(isWriteAhead(state("10"), undefined, WATCH_LAG_MS)).toBe(false);
  });

  // With a silent watch, an own write was forgotten, and the version that it had replaced was
  // reported again.
  test("is true without a limit while the watch shows an older state of the very object", () => {
    expect(isWriteAhead(state("10"), state("9"), 10 * WATCH_LAG_MS)).toBe(true);
    expect(isWriteAhead(state("10"), state("10"), 10 * WATCH_LAG_MS)).toBe(false);
    expect(isWriteAhead(state("10"), state("9", "u0"), WATCH_LAG_MS - 1)).toBe(true);
    expect(isWriteAhead(state("10"), state("9", "u0"), WATCH_LAG_MS)).toBe(false);
  });
});

describe("isAheadOfWatch of a deletion", () => {
  test("is true while the watch still shows the object", () => {
    expect(isDeletionAhead(state("10"))).toBe(true);
    expect(isDeletionAhead(state("11"))).toBe(true);
    expect(isDeletionAhead(undefined)).toBe(false);
  });

  test("is false for a new object of the same name", () => {
    expect(isDeletionAhead(state("12", "u2"))).toBe(false);
  });

  test("is false after the lag limit, as the deletion may wait for a finalizer", () => {
    expect(isDeletionAhead(state("10"), WATCH_LAG_MS)).toBe(false);
  });
});

describe("OwnWrites", () => {
  test("returns the written object until the watch shows it, and trusts the watch from then on", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    expect(writes.newest("k", state("9"))).toEqual(state("10"));
    expect(writes.newest("k", state("10"))).toEqual(state("10"));
    expect(writes.newest("k", state("9"))).toEqual(state("9"));
  });

  test("is independent of the wall clock", () => {
    const { clock, writes } = setUp();
    writes.recordWrite("k", state("10"));
    clock.stepWall(10 * WATCH_LAG_MS);
    expect(writes.newest("k", state("9"))).toEqual(state("10"));
  });

  test("keeps the object of the watch instead of the equal one that was written", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    const shown = state("10");
    expect(writes.observe("k", state("9"))).toBe(true);
    expect(writes.observe("k", shown)).toBe(true);
    expect(writes.observe("k", state("11"))).toBe(false);
    expect(writes.newest("k", state("9"))).toBe(shown);
  });

  test("forgets the write of a deleted object", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    writes.forget("k");
    expect(writes.newest("k", state("9"))).toEqual(state("9"));
  });

  test("keeps objects apart", () => {
    const { writes } = setUp();
    writes.recordWrite("k", state("10"));
    expect(writes.newest("other", state("3"))).toEqual(state("3"));
  });

  test("keeps no entry beyond the lag limit, also for objects that nothing asks for again", async () => {
    const { clock, writes } = setUp();
    for (let at = 0; at < 100; at += 1) {
      writes.recordWrite(`k${at}`, state("10"));
      await clock.advance(WATCH_LAG_MS / 10);
    }
    expect(writes.size).toBe(10);
  });
});
