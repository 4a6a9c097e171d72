import { expect, test } from "vitest";
import { seriesOf, visitTables, type MeasuredVisit } from "./visits.ts";

const of = (subject: string, usable: number): MeasuredVisit => ({
  subject,
  secrets: 1_000,
  speed: "slow",
  visit: "first",
  figures: { "usable ms": usable, "longest task ms": 0 },
});
const visits = [of("now", 100), of("before", 400), of("now", 300), of("before", 400)];

test("the runs of a visit are one series, apart from the runs of another subject", () => {
  const place = { secrets: 1_000, speed: "slow", visit: "first" };
  expect(seriesOf(visits)).toEqual([
    { subject: "now", ...place, figures: { "usable ms": [100, 300], "longest task ms": [0, 0] } },
    {
      subject: "before",
      ...place,
      figures: { "usable ms": [400, 400], "longest task ms": [0, 0] },
    },
  ]);
});

test("a table has the medians of both subjects and their ratio, and none without a divisor", () => {
  expect(visitTables(visits)).toBe(
    [
      "1000 secrets, slow, first visit   now  before  ratio",
      "usable ms                         200     400   0.50",
      "longest task ms                  0.00    0.00      –",
      "",
    ].join("\n"),
  );
});
