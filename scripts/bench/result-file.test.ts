import { expect, test } from "vitest";
import { resultText } from "./result-file.ts";

test("a result file has medians in place of samples, and a line for each item", () => {
  const result = [
    { name: "a", times: [1, 2.000_004, 9, 3], total: 123_456, none: [] },
    { name: "b", ratio: 0.123_456_789, labels: ["x"] },
  ];
  const text = resultText({ seconds: 5 }, { cpus: 2 }, result);
  expect(JSON.parse(text)).toEqual({
    settings: { seconds: 5 },
    machine: { cpus: 2 },
    result: [
      { name: "a", times: { median: 2.5, iqr: 2.75, count: 4 }, total: 123_456, none: [] },
      { name: "b", ratio: 0.123_457, labels: ["x"] },
    ],
  });
  expect(text.split("\n")).toHaveLength(7);
});
