import { expect, test } from "vitest";
import { type Logger, silentLogger } from "../../../lib/logger.ts";
import { logReadyChange } from "./record-readiness.ts";

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
