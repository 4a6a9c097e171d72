import { describe, expect, test } from "vitest";
import { parseCron } from "./cron.ts";
import { nextOpening, type TimeWindow } from "./window.ts";

const HOUR = 3_600_000;
const window = (schedule: string, hours: number, timeZone = "Europe/Berlin"): TimeWindow => ({
  schedule: parseCron(schedule),
  durationMs: hours * HOUR,
  timeZone,
});
const opening = (windows: readonly TimeWindow[], now: string): string | undefined => {
  const next = nextOpening(windows, Date.parse(now));
  return next === undefined ? undefined : new Date(next).toISOString().slice(0, 16);
};

describe("nextOpening", () => {
  test.each([
    ["open in the first minute", "0 2 * * *", 1, "2026-07-02T00:00Z", undefined],
    ["open in the last one", "0 2 * * *", 1, "2026-07-02T00:59:59.999Z", undefined],
    ["closed at its end", "0 2 * * *", 1, "2026-07-02T01:00Z", "2026-07-03T00:00"],
    [
      "never closed, if it is longer than its period",
      "0 2 * * *",
      30,
      "2026-07-02T01:00Z",
      undefined,
    ],
    ["open over midnight", "0 23 * * *", 2, "2026-07-01T22:30Z", undefined],
    ["open for a week", "0 2 * * SUN", 168, "2026-07-04T23:00Z", undefined],
    [
      "absent on a day whose hour is skipped",
      "30 2 * * *",
      1,
      "2026-03-29T00:45Z",
      "2026-03-30T00:30",
    ],
    [
      "as long as on other days when clocks are put forward",
      "30 1 * * *",
      2,
      "2026-03-29T02:15Z",
      undefined,
    ],
    ["open in both hours when one is repeated", "30 2 * * *", 0.5, "2026-10-25T01:45Z", undefined],
    ["closed between them", "30 2 * * *", 0.5, "2026-10-25T01:15Z", "2026-10-25T01:30"],
    ["open on 29 February", "0 0 29 2 *", 24, "2028-02-29T12:00Z", undefined],
    ["closed until the next one", "0 0 29 2 *", 24, "2026-07-01T00:00Z", "2028-02-28T23:00"],
  ])("of a window that is %s", (_, schedule, hours, now, expected) => {
    expect(opening([window(schedule, hours)], now)).toBe(expected);
  });

  test("follows the clocks of a zone without daylight saving", () => {
    expect(opening([window("0 9 * * *", 1, "Asia/Tokyo")], "2026-03-29T00:30Z")).toBeUndefined();
    expect(opening([window("0 9 * * *", 1, "Asia/Tokyo")], "2026-10-25T01:00Z")).toBe(
      "2026-10-26T00:00",
    );
  });

  test("of several windows is the first one, and one that is open counts", () => {
    const [early, late] = [window("0 2 * * *", 1), window("0 5 * * *", 1)];
    expect(opening([late, early], "2026-07-01T20:00Z")).toBe("2026-07-02T00:00");
    expect(opening([late, early], "2026-07-02T03:30Z")).toBeUndefined();
    expect(opening([], "2026-07-02T03:30Z")).toBeUndefined();
  });

  test("is computed again after a change, and when a clock goes back", () => {
    const daily = window("0 2 * * *", 1);
    expect(opening([daily], "2026-07-02T01:00Z")).toBe("2026-07-03T00:00");
    expect(opening([daily], "2026-07-02T20:00Z")).toBe("2026-07-03T00:00");
    expect(opening([daily], "2026-07-03T00:30Z")).toBeUndefined();
    expect(opening([daily], "2026-07-03T01:00Z")).toBe("2026-07-04T00:00");
    expect(opening([daily], "2026-07-01T01:00Z")).toBe("2026-07-02T00:00");
  });
});
