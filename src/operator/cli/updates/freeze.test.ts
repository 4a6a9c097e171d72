import { describe, expect, test } from "vitest";
import { freezeData } from "./freeze.ts";

const NOW = Date.UTC(2026, 11, 20);
const until = "2026-12-27T06:00:00Z";

describe("freezeData", () => {
  test("returns the data of the ConfigMap", () => {
    expect(freezeData({ until }, NOW)).toEqual({ until });
    const flags = { until, reason: "holidays", namespaceSelector: "team=shop" };
    expect(freezeData(flags, NOW)).toEqual({
      until,
      reason: "holidays",
      namespaceSelector: '{"matchExpressions":[{"key":"team","operator":"In","values":["shop"]}]}',
    });
  });

  test.each([
    [{ until: "tomorrow" }, "--until: expected a time such as"],
    [{ until: "2026-12-19T06:00:00Z" }, "--until: 2026-12-19T06:00:00Z is over"],
    [{ until, namespaceSelector: "team like shop" }, "--namespace-selector: cannot parse"],
    [{ until, reason: "x".repeat(1_001) }, "--reason: "],
  ])("rejects %j", (flags, message) => {
    expect(() => freezeData(flags, NOW)).toThrow(message);
  });
});
