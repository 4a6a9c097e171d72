import { expect, test } from "vitest";
import { formatAge, formatTable } from "./format.ts";

test("columns are as wide as their longest text, and lines end without spaces", () => {
  const text = formatTable(
    ["NAME", "READY", "URL"],
    [
      ["a", { text: "True", color: "green" }, "https://vault"],
      ["longer-name", { text: "False", color: "red" }, ""],
    ],
  );
  expect(text.split("\n")).toEqual([
    "NAME         READY  URL",
    "a            True   https://vault",
    "longer-name  False",
    "",
  ]);
});

test("a text cannot move the cursor, color what follows, end the line or reverse it", () => {
  expect(formatTable(["NAME"], [["a\u001B[31m\r\n\u202Eb"]])).toBe(
    "NAME\na\uFFFD[31m\uFFFD\uFFFD\uFFFDb\n",
  );
});

test("an age is a whole number of its largest unit, of which it has at least two", () => {
  const second = 1_000;
  const hour = 3_600 * second;
  const ages = [
    -5 * second,
    0,
    119 * second,
    120 * second,
    119 * 60 * second,
    2 * hour,
    47 * hour,
    48 * hour,
    400 * 24 * hour,
  ];
  expect(ages.map(formatAge)).toEqual([
    "0s",
    "0s",
    "119s",
    "2m",
    "119m",
    "2h",
    "47h",
    "2d",
    "400d",
  ]);
});
