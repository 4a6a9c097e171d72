import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isTimeZone, lastTime, nextTime, parseCron } from "./cron.ts";

interface Row {
  readonly schedule: string;
  readonly zone: string;
  readonly after: string;
  readonly times: readonly string[];
}

const HOUR = 3_600_000;
const iso = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString().slice(0, 16);
const next = (schedule: string, zone: string, after: string): string | undefined =>
  iso(nextTime(parseCron(schedule), zone, Date.parse(after)));

const last = (schedule: string, before: string, withinMs: number): string | undefined =>
  iso(lastTime(parseCron(schedule), "Europe/Berlin", Date.parse(before), withinMs));

describe("parseCron", () => {
  test.each([
    ["0 2 * * *", [0], [2]],
    ["*/15 8-18/5 * * MON-FRI", [0, 15, 30, 45], [8, 13, 18]],
    ["50/5 1,3,1 1 JAN sun", [50, 55], [1, 3]],
  ])("reads %s", (text, minutes, hours) => {
    expect(parseCron(text)).toMatchObject({ minutes, hours });
  });

  test.each([
    ["0 2 * *", "five fields"],
    ["0 2 * * * *", "five fields"],
    ["@daily", "five fields"],
    ["60 2 * * *", "the minute must be 0-59"],
    ["0 24 * * *", "the hour must be 0-23"],
    ["0 2 0 * *", "the day of the month must be 1-31"],
    ["0 2 * 13 *", "the month must be 1-12"],
    ["0 2 * * 7", "the day of the week must be 0-6"],
    ["0 2 * * FRI-MON", "the day of the week must be 0-6"],
    ["*/0 2 * * *", "the minute"],
    ["1-2-3 2 * * *", "the minute"],
    ["1/2/3 2 * * *", "the minute"],
    [", 2 * * *", "the minute"],
    ["0 2 30 2 *", "no day matches"],
  ])("rejects %s", (text, message) => {
    expect(() => parseCron(text)).toThrow(message);
  });
});

describe("nextTime", () => {
  test.each([
    [
      "a zone without daylight saving",
      "0 2 * * *",
      "Asia/Tokyo",
      "2026-03-28T17:00Z",
      "2026-03-29T17:00",
    ],
    [
      "an hour that is skipped",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-03-28T12:00Z",
      "2026-03-30T00:30",
    ],
    [
      "the day after the change",
      "0 3 * * *",
      "Europe/Berlin",
      "2026-03-28T12:00Z",
      "2026-03-29T01:00",
    ],
    [
      "an hour that is repeated",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00Z",
      "2026-10-25T00:30",
    ],
    ["its repetition", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30Z", "2026-10-25T01:30"],
    [
      "every half hour of it",
      "*/30 * * * *",
      "Europe/Berlin",
      "2026-10-25T00:30Z",
      "2026-10-25T01:00",
    ],
    ["29 February", "0 0 29 2 *", "UTC", "2026-01-01T00:00Z", "2028-02-29T00:00"],
    ["a century without 29 February", "0 0 29 2 *", "UTC", "2096-03-01T00:00Z", "2104-02-29T00:00"],
    ["a day or a weekday", "0 0 13 * FRI", "UTC", "2026-11-10T00:00Z", "2026-11-13T00:00"],
    ["a weekday before the day", "0 0 13 * MON", "UTC", "2026-11-08T12:00Z", "2026-11-09T00:00"],
    [
      "an offset of 45 minutes",
      "0 0 * * *",
      "Asia/Kathmandu",
      "2026-11-01T00:00Z",
      "2026-11-01T18:15",
    ],
  ])("finds %s", (_, schedule, zone, after, expected) => {
    expect(next(schedule, zone, after)).toBe(expected);
  });
});

describe("the times of CronJobs", () => {
  /** As the package of Kubernetes computes them; main.go next to the file prints it. */
  const text = readFileSync("test/lab/clock/cron-times/times.jsonl", "utf8");
  const rows = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Row);

  test("are the times of a schedule, over changes of daylight saving and 29 February", () => {
    expect(rows.length).toBeGreaterThan(100);
    for (const { schedule, zone, after, times } of rows) {
      const starts = [after, ...times.slice(0, -1)];
      const found = starts.map((start) => `${next(schedule, zone, start)}Z`);
      expect(found, `${schedule} in ${zone} after ${after}`).toEqual(times);
    }
  });

  test("are found from the next one back, too", () => {
    for (const { schedule, zone, times } of rows) {
      const [first, second] = times;
      if (first === undefined || second === undefined) continue;
      const within = Date.parse(second) - Date.parse(first) + 1;
      const before = lastTime(parseCron(schedule), zone, Date.parse(second) - 1, within);
      expect(`${iso(before)}Z`, `${schedule} in ${zone} before ${second}`).toBe(first);
    }
  });
});

describe("lastTime", () => {
  test.each([
    ["the time itself", "0 2 * * *", "2026-07-02T00:00Z", HOUR, "2026-07-02T00:00"],
    ["an earlier time", "0 2 * * *", "2026-07-02T00:59Z", HOUR, "2026-07-02T00:00"],
    ["no time that is too old", "0 2 * * *", "2026-07-02T01:00Z", HOUR, undefined],
    ["a time of last week", "0 2 * * SUN", "2026-07-11T23:59Z", 168 * HOUR, "2026-07-05T00:00"],
    [
      "the later of two that overlap",
      "0 * * * *",
      "2026-07-02T01:30Z",
      5 * HOUR,
      "2026-07-02T01:00",
    ],
    ["the repeated hour", "30 2 * * *", "2026-10-25T02:00Z", HOUR, "2026-10-25T01:30"],
    ["the evening before", "0 23 * * *", "2026-07-02T01:00Z", 6 * HOUR, "2026-07-01T21:00"],
  ])("finds %s", (_, schedule, before, withinMs, expected) => {
    expect(last(schedule, before, withinMs)).toBe(expected);
  });
});

test("isTimeZone knows the names of IANA, and no offsets", () => {
  expect(["UTC", "Europe/Berlin", "America/New_York"].every(isTimeZone)).toBe(true);
  expect(["", "+01:00", "Europe/Berln", "Local"].some(isTimeZone)).toBe(false);
});
