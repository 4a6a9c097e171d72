import { describe, expect, test } from "vitest";
import { namespaceSelector } from "../../api/namespace-selector.ts";
import { parseSelector } from "./namespace-selector.ts";

describe("parseSelector", () => {
  test.each<[string, readonly object[]]>([
    ["team=shop", [{ key: "team", operator: "In", values: ["shop"] }]],
    ["team == shop", [{ key: "team", operator: "In", values: ["shop"] }]],
    ["team=", [{ key: "team", operator: "In", values: [""] }]],
    [
      "example.com/tier!=test, team in (a, b)",
      [
        { key: "example.com/tier", operator: "NotIn", values: ["test"] },
        { key: "team", operator: "In", values: ["a", "b"] },
      ],
    ],
    ["team notin (a)", [{ key: "team", operator: "NotIn", values: ["a"] }]],
    [
      "team,!tier",
      [
        { key: "team", operator: "Exists" },
        { key: "tier", operator: "DoesNotExist" },
      ],
    ],
  ])("reads %s", (text, matchExpressions) => {
    const selector = parseSelector(text);
    expect(selector).toEqual({ matchExpressions });
    expect(namespaceSelector.safeParse(selector).success).toBe(true);
  });

  test.each(["", "team=a=b", "team in a", "team like shop", "team=a,"])("rejects %j", (text) => {
    expect(() => parseSelector(text)).toThrow("--namespace-selector: cannot parse");
  });
});
