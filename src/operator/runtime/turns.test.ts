import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

const isNone = (_lane: string): boolean => false;
const isSlow = (lane: string): boolean => lane === "slow";

function take(turns: Turns, count: number, skipped = isNone): (string | undefined)[] {
  return Array.from({ length: count }, () => turns.take(skipped));
}

test("groups take turns, lanes take turns within a group, and a lane is first in, first out", () => {
  const turns = new Turns();
  for (const key of ["a1", "a2"]) turns.add("a", "x", key);
  turns.add("a", "y", "a3");
  turns.add("b", "x", "b1");
  expect(take(turns, 5)).toEqual(["a1", "b1", "a3", "a2", undefined]);
});

test("a group or lane that has become empty has the last turn when it is back", () => {
  const turns = new Turns();
  turns.add("a", "x", "a1");
  expect(take(turns, 1)).toEqual(["a1"]);
  turns.add("b", "x", "b1");
  turns.add("a", "x", "a2");
  expect(take(turns, 2)).toEqual(["b1", "a2"]);
  turns.add("a", "x", "a1");
  turns.remove("a", "x", "a1");
  turns.add("a", "y", "a2");
  turns.add("a", "x", "a3");
  expect(take(turns, 2)).toEqual(["a2", "a3"]);
  turns.add("a", "x", "a1");
  turns.remove("a", "x", "a1");
  turns.add("b", "x", "b1");
  turns.add("a", "x", "a2");
  expect(take(turns, 3)).toEqual(["b1", "a2", undefined]);
});

test("a skipped lane keeps its turn, and a group with nothing but skipped lanes too", () => {
  const turns = new Turns();
  turns.add("a", "slow", "a1");
  turns.add("a", "fast", "a2");
  turns.add("b", "slow", "b1");
  turns.add("c", "fast", "c1");
  expect(take(turns, 3, isSlow)).toEqual(["a2", "c1", undefined]);
  expect(take(turns, 3)).toEqual(["b1", "a1", undefined]);
});

test("removing a key that is not queued changes nothing", () => {
  const turns = new Turns();
  turns.add("a", "x", "a1");
  for (const [group, lane, key] of [
    ["b", "x", "a1"],
    ["a", "y", "a1"],
    ["a", "x", "a2"],
  ] as const)
    turns.remove(group, lane, key);
  expect(take(turns, 2)).toEqual(["a1", undefined]);
});
