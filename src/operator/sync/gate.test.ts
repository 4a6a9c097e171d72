import { describe, expect, test } from "vitest";
import { candidate, syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { timeWindow } from "../lib/window.ts";
import { closedForAll, closedGate, parseHold, versionsDigest } from "./gate.ts";

const digest = (): string => "abc";
const found = (id: string, latest: number, changes: object = {}) => ({
  state: "found" as const,
  item: syncItem(id),
  candidate: candidate(latest, changes),
  version: latest,
});

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
  const freeze = { endsAt: 1_000, text: "until later" };
  const frozen = closedForAll(resource, { freeze, digest, now: 300 });

  const open = { refreshInMs: 0, hasBytes: true };

  test("is open without a hold, a freeze and an interval", () => {
    expect(closedGate(resource, item, open)).toBeUndefined();
    expect(closedForAll(resource, { freeze: undefined, digest, now: 0 })).toBeUndefined();
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

describe("closedForAll with approvals", () => {
  const facts = { freeze: undefined, digest, now: 0 };
  const waiting = syncResource([], { updates: { needsApproval: true, windows: [] } });

  test("waits until the digest of these versions is approved", () => {
    const gate = {
      reason: "AwaitingApproval",
      digest: "abc",
      until: "(vaultsync approve vaultsecret/db, or the annotation vaultsync.dev/approve=abc)",
    };
    expect(closedForAll(waiting, facts)).toEqual(gate);
    expect(closedForAll({ ...waiting, approved: "other" }, facts)).toEqual(gate);
    expect(closedForAll({ ...waiting, approved: "abc" }, facts)).toBeUndefined();
  });

  test("waits for the end of a freeze first", () => {
    const freeze = { endsAt: 9, text: "until later" };
    const approved = { ...waiting, approved: "abc" };
    expect(closedForAll(approved, { ...facts, freeze })?.reason).toBe("Frozen");
  });
});

describe("versionsDigest", () => {
  test("does not depend on the order, on pinned versions and on sources that are not there", () => {
    const pinned = { ...found("c", 1), item: syncItem("c", { version: 1 }) };
    const missing = { state: "missing" as const, item: syncItem("d") };
    const expected = versionsDigest([found("a", 1), found("b", 2)]);
    expect(versionsDigest([missing, found("b", 2), pinned, found("a", 1)])).toBe(expected);
  });

  test.each([
    ["another version", [found("a", 2)]],
    ["another key", [found("b", 1)]],
    ["another owner", [found("a", 1, { owner: "dba@example.com" })]],
    ["another vault", [found("a", 1, { vault: "other" })]],
    ["another creation", [found("a", 1, { createdAt: new Map([[1, 7]]) })]],
    ["one more key", [found("a", 1), found("b", 1)]],
  ])("differs for %s", (_, resolutions) => {
    expect(versionsDigest(resolutions)).not.toBe(versionsDigest([found("a", 1)]));
  });
});

describe("closedForAll with windows", () => {
  const windows = [timeWindow("0 2 * * *", "1h")];
  const facts = { freeze: undefined, digest, now: Date.UTC(2026, 6, 1, 1, 59) };
  const timed = syncResource([], { updates: { needsApproval: false, windows } });

  test("waits until one opens", () => {
    expect(closedForAll(timed, facts)).toEqual({
      reason: "OutsideWindow",
      opensInMs: 60_000,
      until: "2026-07-01T02:00:00.000Z",
    });
    expect(closedForAll(timed, { ...facts, now: facts.now + 60_000 })).toBeUndefined();
  });

  test("waits for an approval first, and then for a window", () => {
    const both = { ...timed, updates: { needsApproval: true, windows } };
    expect(closedForAll(both, facts)?.reason).toBe("AwaitingApproval");
    expect(closedForAll({ ...both, approved: "abc" }, facts)?.reason).toBe("OutsideWindow");
  });
});
