import { describe, expect, test } from "vitest";
import { type ConditionNow, findCondition, mergeConditions } from "./conditions.ts";
import type { Condition } from "./status.ts";

const EARLIER = "2026-11-01T00:00:00.000Z";
const NOW = "2026-11-21T12:00:00.000Z";
const ready: ConditionNow = { type: "Ready", status: "True", reason: "Synced", message: "fine" };
const before: Condition[] = [
  {
    type: "Ready",
    status: "True",
    reason: "Synced",
    message: "fine",
    observedGeneration: 1,
    lastTransitionTime: EARLIER,
  },
  {
    type: "Stale",
    status: "True",
    reason: "VaultUnreachable",
    message: "x",
    observedGeneration: 1,
    lastTransitionTime: EARLIER,
  },
];
const transitionTimes = (conditions: readonly Condition[]): string[] =>
  conditions.map(({ lastTransitionTime }) => lastTransitionTime);

describe("mergeConditions sets lastTransitionTime", () => {
  test.each<[string, readonly Condition[] | undefined, ConditionNow, string]>([
    ["to now for a first condition", undefined, ready, NOW],
    ["to now for a condition of a new type", before, { ...ready, type: "Stalled" }, NOW],
    ["to the earlier time if the status is the same", before, ready, EARLIER],
    [
      "to the earlier time if only reason and message differ",
      before,
      { ...ready, reason: "Progressing", message: "y" },
      EARLIER,
    ],
    ["to now if the status changes", before, { ...ready, status: "False" }, NOW],
    [
      "to now if the status changes from True to Unknown",
      before,
      { ...ready, status: "Unknown" },
      NOW,
    ],
    ["independently of conditions of other types", before.slice(1), ready, NOW],
  ])("%s", (_, earlier, condition, timestamp) => {
    expect(transitionTimes(mergeConditions(earlier, [condition], 2, NOW))).toEqual([timestamp]);
  });
});

test("mergeConditions returns exactly the given conditions, in order, with the generation", () => {
  const merged = mergeConditions(before, [{ ...ready, type: "Reconciling" }, ready], 2, NOW);
  expect(merged.map(({ type, observedGeneration }) => [type, observedGeneration])).toEqual([
    ["Reconciling", 2],
    ["Ready", 2],
  ]);
  expect(mergeConditions(before, [], 2, NOW)).toEqual([]);
});

const written = (message: string): string | undefined =>
  mergeConditions([], [{ ...ready, message }], 1, NOW)[0]?.message;

describe("mergeConditions with a long message", () => {
  test("keeps 1024 characters and truncates the rest", () => {
    expect(written("x".repeat(1_024))).toHaveLength(1_024);
    expect(written("x".repeat(1_025))).toHaveLength(1_024);
  });

  test("returns well-formed text when it truncates within a surrogate pair", () => {
    const cut = written(`${"x".repeat(1_023)}🔒`);
    expect(cut?.isWellFormed()).toBe(true);
    expect(cut).toHaveLength(1_024);
    expect(written("\ud800 alone")?.isWellFormed()).toBe(true);
  });
});

test("findCondition returns the condition of a type", () => {
  expect(findCondition(before, "Stale")?.reason).toBe("VaultUnreachable");
  expect(findCondition(before, "Stalled")).toBeUndefined();
  expect(findCondition(undefined, "Ready")).toBeUndefined();
});
