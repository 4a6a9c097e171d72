import { expect, test } from "vitest";
import type { EventRecord } from "../../kube/event-recorder.ts";
import { recordConnectionEvents } from "../connection/record-connection-events.ts";
import { recordReadiness, logReadyChange } from "./record-readiness.ts";
import { type Logger, silentLogger } from "../../../lib/logger.ts";

const object = {
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultPush",
  metadata: { name: "db", namespace: "shop", uid: "u" },
};
const TIME = "2026-11-21T12:00:00.000Z";
const ready = (status: string, reason: string, message = "m"): object => ({
  conditions: [{ type: "Ready", status, reason, message, lastTransitionTime: TIME }],
});

/** Returns the events of a change, each as `<type> <reason>: <note>`. */
function eventsOf(record: typeof recordReadiness, before: unknown, now: unknown): string[] {
  const events: EventRecord[] = [];
  record({ record: (event) => void events.push(event) }, object, "List", before, now);
  return events.map(({ type, reason, note }) => `${type} ${reason}: ${note}`);
}

const ofConnection: typeof recordReadiness = (events, about, _, before, now) =>
  recordConnectionEvents(events, about, before, now);

test.each([
  ["a resource", recordReadiness],
  ["a connection", ofConnection],
] as const)("%s has a warning for each new reason why it is not Ready", (_, record) => {
  const failed = ready("False", "AuthFailed", "wrong password");
  for (const before of [
    undefined,
    {},
    ready("True", "Synced"),
    ready("Unknown", "Progressing"),
    ready("False", "InvalidSpec"),
  ])
    expect(eventsOf(record, before, failed)).toEqual(["Warning AuthFailed: wrong password"]);
  expect(eventsOf(record, failed, ready("False", "AuthFailed", "another message"))).toEqual([]);
  for (const now of [{}, ready("Unknown", "Suspended"), ready("Unknown", "Progressing")])
    expect(eventsOf(record, ready("True", "Synced"), now)).toEqual([]);
});

test("the recovery of a resource says since when and why it was not Ready", () => {
  const now = ready("True", "Synced", "in sync");
  const since = `in sync; it was not Ready since ${TIME}: AuthFailed`;
  expect(eventsOf(recordReadiness, ready("False", "AuthFailed"), now)).toEqual([
    `Normal Recovered: ${since}`,
  ]);
  expect(eventsOf(ofConnection, ready("False", "AuthFailed"), now)).toEqual([
    `Normal Connected: ${since}`,
  ]);
  for (const before of [undefined, ready("Unknown", "Progressing")]) {
    expect(eventsOf(recordReadiness, before, now)).toEqual([]);
    expect(eventsOf(ofConnection, before, now)).toEqual(["Normal Connected: in sync"]);
  }
  for (const record of [recordReadiness, ofConnection])
    expect(eventsOf(record, now, now)).toEqual([]);
});

test("a connection that is not ready is no event of its resources", () => {
  expect(eventsOf(recordReadiness, {}, ready("False", "ConnectionNotReady"))).toEqual([]);
});

const key = "shop/db";
const status = (is: string, reason: string, message = "m"): object => ({
  conditions: [
    { type: "Stale", status: "True" },
    { type: "Ready", status: is, reason, message },
  ],
});

/** Returns the lines that a change of the status causes. */
function lines(before: unknown, now: unknown): unknown[][] {
  const written: unknown[][] = [];
  const add = (level: string) => (fields: object, message: string) =>
    void written.push([level, fields, message]);
  const logger: Logger = {
    ...silentLogger,
    info: add("info"),
    warn: add("warn"),
    error: add("error"),
  };
  logReadyChange(logger, { key }, before, now);
  return written;
}

test("a resource that becomes not ready is a warning with reason and message", () => {
  const missing = status("False", "SourceMissing", "x is not listed");
  const fields = { key, ready: "False", reason: "SourceMissing", message: "x is not listed" };
  for (const before of [
    undefined,
    {},
    status("True", "Synced"),
    status("False", "AuthFailed"),
    "text",
    { conditions: [null] },
  ])
    expect(lines(before, missing)).toEqual([["warn", fields, "resource is not ready"]]);
});

test("a resource that is ready again, suspended or in progress is no warning", () => {
  const [level] = lines(status("False", "SourceMissing"), status("True", "Synced"))[0] ?? [];
  expect(level).toBe("info");
  for (const reason of ["Suspended", "Progressing"])
    expect(lines({}, status("Unknown", reason))[0]?.[0]).toBe("info");
});

test("nothing is logged for the first success, for a new message and without the condition", () => {
  expect(lines(undefined, status("True", "Synced"))).toEqual([]);
  expect(
    lines(status("False", "SourceMissing", "a"), status("False", "SourceMissing", "b")),
  ).toEqual([]);
  expect(lines(status("True", "Synced"), {})).toEqual([]);
});
