import { expect, test } from "vitest";
import { isSelected, type NamespaceSelector } from "./namespace-selector.ts";

const shop = { team: "shop", stage: "prod" };
const select = (
  key: string,
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist",
  ...values: string[]
): NamespaceSelector => ({
  matchExpressions: [{ key, operator, values }],
});

test.each<[what: string, selector: NamespaceSelector, selected: boolean]>([
  ["equal labels", { matchLabels: { team: "shop", stage: "prod" } }, true],
  ["one label of several", { matchLabels: { team: "shop" } }, true],
  ["another value", { matchLabels: { team: "blog" } }, false],
  ["one of two labels that differs", { matchLabels: { team: "shop", stage: "test" } }, false],
  ["a missing label", { matchLabels: { owner: "shop" } }, false],
  ["a label that every object inherits", { matchLabels: { constructor: "" } }, false],
  ["no labels", { matchLabels: {} }, true],
  ["no expressions", { matchExpressions: [] }, true],
  ["In with the value", select("team", "In", "blog", "shop"), true],
  ["In without the value", select("team", "In", "blog"), false],
  ["In of a missing label", select("owner", "In", "shop"), false],
  ["NotIn with the value", select("team", "NotIn", "shop"), false],
  ["NotIn without the value", select("team", "NotIn", "blog"), true],
  ["NotIn of a missing label", select("owner", "NotIn", "shop"), true],
  ["Exists", select("team", "Exists"), true],
  ["Exists of a missing label", select("owner", "Exists"), false],
  ["DoesNotExist", select("team", "DoesNotExist"), false],
  ["DoesNotExist of a missing label", select("owner", "DoesNotExist"), true],
  [
    "labels that match and an expression that does not",
    { matchLabels: shop, ...select("team", "DoesNotExist") },
    false,
  ],
])("a selector with %s", (_, selector, selected) => {
  expect(isSelected(selector, shop)).toBe(selected);
});
