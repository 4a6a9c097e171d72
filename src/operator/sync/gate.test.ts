import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { closedForAll, closedGate, parseHold } from "./gate.ts";

describe("parseHold", () => {
  test.each([
    ["*", {}],
    ['{"versions": "*"}', {}],
    ['{"versions": {"password": 3}}', { password: 3 }],
    ['{"versions": {}}', {}],
  ])("reads the versions of %s", (text, versions) => {
    expect(parseHold(text)).toEqual({ versions: new Map(Object.entries(versions)), note: "" });
  });

  test("returns undefined without the annotation", () => {
    expect(parseHold(undefined)).toBeUndefined();
  });

  test.each([
    [
      { by: "ann", at: "2026-11-28T02:00:00Z", reason: "typo" },
      "by ann at 2026-11-28T02:00:00Z: typo",
    ],
    [{ by: "ann" }, "by ann"],
    [{ reason: "typo" }, "typo"],
    [{ reason: "two\nlines\u202E" }, "two lines"],
    [{ reason: "x".repeat(300) }, `${"x".repeat(200)}…`],
  ])("says who holds and why: %j", (facts, note) => {
    expect(parseHold(JSON.stringify({ versions: "*", ...facts }))?.note).toBe(note);
  });

  test.each([
    ["", "expected"],
    ["3", "expected"],
    ["{}", 'versions: expected "*" or a version for each key'],
    ['{"versions": {"a": 0}}', "versions"],
    ['{"versions": {"a": "latest"}}', "versions"],
    ['{"versions": "*", "until": "tomorrow"}', "until"],
  ])("holds everything and says what is wrong with %s", (text, problem) => {
    const hold = parseHold(text);
    expect(hold?.versions.size).toBe(0);
    expect(hold?.problem).toMatch(/^vaultsync\.dev\/hold: /u);
    expect(hold?.problem).toContain(problem);
  });
});

describe("closedGate", () => {
  const item = syncItem("password");
  const resource = syncResource([item]);
  const hold = parseHold('{"versions": {"password": 3}}');
  const frozen = closedForAll({ freeze: { endsAt: 1_000, text: "until later" }, now: 300 });

  const open = { refreshInMs: 0, hasBytes: true };

  test("is open without a hold, a freeze and an interval", () => {
    expect(closedGate(resource, item, open)).toBeUndefined();
    expect(closedForAll({ freeze: undefined, now: 0 })).toBeUndefined();
  });

  test("keeps an interval only for bytes that the target has", () => {
    const gate = { reason: "RefreshInterval", opensInMs: 500 };
    expect(closedGate(resource, item, { ...open, refreshInMs: 500 })).toEqual(gate);
    expect(closedGate(resource, item, { refreshInMs: 500, hasBytes: false })).toBeUndefined();
  });

  test("holds the version that a hold names, before any interval and without a target", () => {
    const held = { ...resource, hold };
    const waiting = { updates: frozen, refreshInMs: 500, hasBytes: false };
    expect(closedGate(held, item, waiting)).toEqual({ reason: "Held", version: 3 });
    expect(closedGate(held, syncItem("user"), open)).toEqual({ reason: "Held" });
  });

  test("is closed until the end of a freeze, before any interval and without a target", () => {
    expect(frozen).toEqual({ reason: "Frozen", opensInMs: 700, until: "until later" });
    const waiting = { updates: frozen, refreshInMs: 500, hasBytes: false };
    expect(closedGate(resource, item, waiting)).toEqual(frozen);
  });
});
