import { expect, test } from "vitest";
import { eventReasons, isStalled, type Reason, reasons } from "./reasons.ts";

const names = Object.keys(reasons) as Reason[];

test.each(names)("%s is a valid reason and has a remedy", (name) => {
  expect(name).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
  expect(reasons[name].remedy).toMatch(/^[A-Z].{15,}\.$/s);
});

test("all remedies are distinct", () => {
  expect(new Set(names.map((name) => reasons[name].remedy)).size).toBe(names.length);
});

test("isStalled returns false for reasons that resolve without a user", () => {
  const passing: Reason[] = [
    "Synced",
    "Suspended",
    "Progressing",
    "RateLimited",
    "VaultUnreachable",
    "ConnectionNotReady",
  ];
  expect(passing.filter(isStalled)).toEqual([]);
});

test("isStalled returns true for reasons that only a user can resolve", () => {
  const lasting: Reason[] = [
    "AuthFailed",
    "InvalidSpec",
    "TargetConflict",
    "VersionRegressed",
    "SourceSuspicious",
    "TooLarge",
  ];
  expect(lasting.filter((name) => !isStalled(name))).toEqual([]);
});

test("event reasons are distinct from condition reasons", () => {
  const taken = new Set<string>(names);
  const ours = Object.values(eventReasons);
  expect(new Set(ours).size).toBe(ours.length);
  expect(ours.filter((reason) => taken.has(reason))).toEqual([]);
});
