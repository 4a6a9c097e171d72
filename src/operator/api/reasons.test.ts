import { expect, test } from "vitest";
import { eventReasons, isStalled, type Reason, reasons } from "./reasons.ts";

const names = Object.keys(reasons) as Reason[];

test.each(names)("%s is a legal reason, and has a remedy that tells a person something", (name) => {
  expect(name).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
  expect(reasons[name].remedy).toMatch(/^[A-Z].{15,}\.$/s);
});

test("no two reasons have the same remedy", () => {
  expect(new Set(names.map((name) => reasons[name].remedy)).size).toBe(names.length);
});

test("what goes away by itself is never Stalled", () => {
  const passing: Reason[] = ["Synced", "Suspended", "Progressing", "RateLimited", "VaultUnreachable", "ConnectionNotReady"];
  expect(passing.filter(isStalled)).toEqual([]);
});

test("what only a person can mend is Stalled", () => {
  const lasting: Reason[] = ["AuthFailed", "InvalidSpec", "TargetConflict", "VersionRegressed", "SourceSuspicious", "TooLarge"];
  expect(lasting.filter((name) => !isStalled(name))).toEqual([]);
});

test("events have reasons of their own", () => {
  const taken = new Set<string>(names);
  const ours = Object.values(eventReasons);
  expect(new Set(ours).size).toBe(ours.length);
  expect(ours.filter((reason) => taken.has(reason))).toEqual([]);
});
