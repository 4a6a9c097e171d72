import { expect, test } from "vitest";
import type { Report } from "../../sync/report.ts";
import { nextWait } from "./next-wait.ts";

const NOW = Date.UTC(2026, 10, 21);
const DAY = 86_400_000;
type Next = Parameters<typeof nextWait>[0];

const expiry = (noticeAt: number) => ({ name: "db", to: noticeAt, noticeAt });
const deferred = (opensInMs: number): object => ({
  state: "found",
  candidate: {},
  gate: { reason: "RefreshInterval", opensInMs },
});
const missing = (provenInMs?: number): object => ({ state: "missing", provenInMs });

/** Returns what a reconcile waits for that resolved its items like this. */
function waitFor(
  resolutions: object[] | undefined,
  { reason = "Synced", next = { outcome: "done" } }: { reason?: string; next?: Next } = {},
): Next {
  return nextWait(next, { readyCondition: { reason }, resolutions } as unknown as Report, {
    now: NOW,
    expiries: [],
    merges: false,
  });
}
const wait = (reason: "connection" | "target" | "time", atMostMs: number): Next => ({
  outcome: "done",
  wait: { for: reason, atMostMs },
});
const none: Next = { outcome: "done", wait: undefined };

test("a resource waits for the first notice of what expires, and for none that is due", () => {
  const waitWith = (...times: readonly number[]): Next =>
    nextWait({ outcome: "done" }, { resolutions: [] } as unknown as Report, {
      now: NOW,
      expiries: times.map(expiry),
      merges: false,
    });
  expect(waitWith(NOW + 30 * DAY, NOW + 20 * DAY, NOW)).toEqual(wait("time", 20 * DAY));
  expect(waitWith(NOW, NOW - DAY)).toEqual(none);
});

test("a missing name is waited for until it counts as deleted, if it ever does", () => {
  expect(waitFor([missing(60_000), missing(30_000)])).toEqual(wait("connection", 30_000));
  expect(waitFor([missing(), missing(0), missing(Number.POSITIVE_INFINITY)])).toEqual(none);
});

test("a newer version that is not followed yet is waited for until its interval ends", () => {
  expect(waitFor([deferred(60_000), deferred(30_000)])).toEqual(wait("time", 30_000));
});

test("a resource whose condition stays unchanged waits for its items only", () => {
  const report = { readyCondition: undefined, resolutions: [missing(30_000)] } as unknown as Report;
  expect(nextWait({ outcome: "done" }, report, { now: NOW, expiries: [], merges: false })).toEqual(
    wait("connection", 30_000),
  );
});

test.each([
  ["TargetConflict", wait("target", 30_000)],
  ["TargetMissing", wait("target", 30_000)],
  ["SourceMissing", none],
])("a resource that is not ready because of %s waits for %j", (reason, expected) => {
  expect(waitFor([], { reason })).toEqual(expected);
});

test("the shortest wait counts, and a retry stays unchanged", () => {
  expect(waitFor([missing(60_000)], { next: wait("time", 1_000) })).toEqual(wait("time", 1_000));
  expect(waitFor([missing(500)], { next: wait("time", 1_000) })).toEqual(wait("connection", 500));
  const retry: Next = { outcome: "retry", cause: "vault", reason: "VaultUnreachable" };
  expect(waitFor([missing(500)], { next: retry })).toBe(retry);
});

test("a resource with a problem is reported as not ready, unless it is suspended", () => {
  const rows = [
    ["SourceMissing", false],
    ["Suspended", false],
    ["Synced", true],
  ];
  const nexts = rows.map(([reason, ready]) =>
    nextWait({ outcome: "done" }, { readyCondition: { reason, ready } } as unknown as Report, {
      now: NOW,
      expiries: [],
      merges: false,
    }),
  );
  expect(nexts).toEqual([{ ...none, notReady: true }, none, none]);
});

const ofReason = (reason: string, ready = false): Report =>
  ({ readyCondition: { reason, ready } }) as unknown as Report;

test("a resource that is not ready and merges its keys waits for its object", () => {
  const { wait: unseen } = nextWait({ outcome: "done" }, ofReason("SourceMissing"), {
    now: NOW,
    expiries: [],
    merges: true,
  }) as {
    wait?: unknown;
  };
  expect(unseen).toEqual({ for: "target", atMostMs: 30_000 });
  const ended = [ofReason("Synced", true), ofReason("Suspended")].map((report) =>
    nextWait({ outcome: "done" }, report, { now: NOW, expiries: [], merges: true }),
  );
  expect(ended).toEqual([
    { outcome: "done", wait: undefined },
    { outcome: "done", wait: undefined },
  ]);
});

test("a resource without a target waits until it is Stalled, unless it is already", () => {
  const situation = { now: NOW, expiries: [], merges: false, firstTargetDueInMs: 200_000 };
  const after = (reason: string, ready = false): Next =>
    nextWait({ outcome: "done" }, ofReason(reason, ready), situation);
  expect(after("SourceMissing")).toEqual({ ...wait("time", 200_000), notReady: true });
  expect(after("InvalidSpec")).toEqual({ ...none, notReady: true });
  expect(after("Suspended")).toEqual(none);
  expect(after("Synced", true)).toEqual(none);
});
