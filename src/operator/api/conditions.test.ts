import { describe, expect, test } from "vitest";
import { type ConditionNow, findCondition, mergeConditions } from "./conditions.ts";
import type { Condition } from "./status.ts";

const EARLIER = "2026-11-01T00:00:00.000Z";
const NOW = "2026-11-21T12:00:00.000Z";
const ready: ConditionNow = { type: "Ready", status: "True", reason: "Synced", message: "fine" };
const before: Condition[] = [
  { type: "Ready", status: "True", reason: "Synced", message: "fine", observedGeneration: 1, lastTransitionTime: EARLIER },
  { type: "Stale", status: "True", reason: "VaultUnreachable", message: "x", observedGeneration: 1, lastTransitionTime: EARLIER },
];
const moments = (conditions: readonly Condition[]): string[] => conditions.map(({ lastTransitionTime }) => lastTransitionTime);

describe("the moment of the last transition", () => {
  test.each<[string, readonly Condition[] | undefined, ConditionNow, string]>([
    ["of a first condition is now", undefined, ready, NOW],
    ["of a condition of a new type is now", before, { ...ready, type: "Stalled" }, NOW],
    ["of the same status stays", before, ready, EARLIER],
    ["stays when only reason and message differ", before, { ...ready, reason: "Progressing", message: "y" }, EARLIER],
    ["of another status is now", before, { ...ready, status: "False" }, NOW],
    ["from True to Unknown is now", before, { ...ready, status: "Unknown" }, NOW],
    ["does not come from a condition of another type", before.slice(1), ready, NOW],
  ])("%s", (_, earlier, condition, moment) => {
    expect(moments(mergeConditions(earlier, [condition], 2, NOW))).toEqual([moment]);
  });
});

test("exactly the conditions of now are there, in their order, of this generation", () => {
  const merged = mergeConditions(before, [{ ...ready, type: "Reconciling" }, ready], 2, NOW);
  expect(merged.map(({ type, observedGeneration }) => [type, observedGeneration])).toEqual([
    ["Reconciling", 2],
    ["Ready", 2],
  ]);
  expect(mergeConditions(before, [], 2, NOW)).toEqual([]);
});

const written = (message: string): string | undefined => mergeConditions([], [{ ...ready, message }], 1, NOW)[0]?.message;

describe("a message", () => {
  test("of 1024 characters is whole, a longer one is cut", () => {
    expect(written("x".repeat(1_024))).toHaveLength(1_024);
    expect(written("x".repeat(1_025))).toHaveLength(1_024);
  });

  test("that is cut in the middle of a character stays well-formed: half of one would come back as another text", () => {
    const cut = written(`${"x".repeat(1_023)}🔒`);
    expect(cut?.isWellFormed()).toBe(true);
    expect(cut).toHaveLength(1_024);
    expect(written("\ud800 alone")?.isWellFormed()).toBe(true);
  });
});

test("a condition is found by its type", () => {
  expect(findCondition(before, "Stale")?.reason).toBe("VaultUnreachable");
  expect(findCondition(before, "Stalled")).toBeUndefined();
  expect(findCondition(undefined, "Ready")).toBeUndefined();
});
