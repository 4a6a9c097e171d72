import { describe, expect, test } from "vitest";
import { frozenBy, INVALID_FREEZE_MS, parseFreeze, parseFreezeUntil } from "./freeze.ts";

const WRITTEN = Date.UTC(2026, 10, 20);
const UNTIL = "2026-12-27T06:00:00+01:00";
const end = Date.parse(UNTIL);
const parsed = (values: Readonly<Record<string, string>>) =>
  parseFreeze({ values, writtenAt: WRITTEN });

const ofNamespace = (until: string) => parseFreezeUntil({ values: { until }, writtenAt: WRITTEN });
const freeze = (endsAt: number, team?: string) => ({
  endsAt,
  text: "",
  ...(team !== undefined && { selector: { matchLabels: { team } } }),
});

describe("parseFreeze", () => {
  test("reads the end, the reason and the selected namespaces", () => {
    const selector = { matchLabels: { team: "shop" } };
    const values = {
      until: UNTIL,
      reason: "two\nlines",
      namespaceSelector: JSON.stringify(selector),
    };
    expect(parsed(values)).toEqual({
      endsAt: end,
      selector,
      text: "until 2026-12-27T05:00:00.000Z (ConfigMap vaultsync-freeze: two lines)",
    });
    expect(parsed({ until: UNTIL }).text).toContain("Z (ConfigMap vaultsync-freeze)");
  });

  test.each<[string, Readonly<Record<string, string>>, string]>([
    ["nothing", {}, "data.until: expected a time"],
    ["a date", { until: "2026-12-27" }, "data.until: expected a time"],
    ["a time without a zone", { until: "2026-12-27T06:00:00" }, "until: expected a time"],
    [
      "a selector that is not JSON",
      { until: UNTIL, namespaceSelector: "team=shop" },
      "namespaceSelector",
    ],
    ["a selector of nothing", { until: UNTIL, namespaceSelector: "{}" }, "must have matchLabels"],
    ["an unknown field", { until: UNTIL, namespaceselector: "{}" }, "namespaceselector"],
  ])("freezes everything for a day with %s", (_, values, problem) => {
    const unusable = parsed(values);
    expect(unusable.problem).toContain(problem);
    expect(unusable.text).toContain("because it cannot be parsed (ConfigMap vaultsync-freeze: ");
    expect(unusable).toMatchObject({ endsAt: WRITTEN + INVALID_FREEZE_MS });
    expect(unusable.selector).toBeUndefined();
  });

  test("freezes no longer than an end that can be parsed", () => {
    const until = new Date(WRITTEN + 60_000).toISOString();
    expect(parsed({ until, typo: "" }).endsAt).toBe(WRITTEN + 60_000);
  });
});

test("parseFreezeUntil names the annotation", () => {
  expect(ofNamespace(UNTIL).text).toContain(
    "(annotation vaultsync.dev/freeze-until of the namespace)",
  );
  expect(ofNamespace("soon").problem).toContain(
    "annotation vaultsync.dev/freeze-until of the namespace: expected a time",
  );
});

describe("frozenBy", () => {
  test("returns the freeze that ends last", () => {
    expect(frozenBy([freeze(5), freeze(9), freeze(7)], {}, 4)?.endsAt).toBe(9);
  });

  test("returns undefined at the end", () => {
    expect(frozenBy([freeze(5)], {}, 5)).toBeUndefined();
    expect(frozenBy([], {}, 0)).toBeUndefined();
  });

  test("selects namespaces by their labels, and all whose labels are not known", () => {
    expect(frozenBy([freeze(5, "shop")], { team: "shop" }, 4)?.endsAt).toBe(5);
    expect(frozenBy([freeze(5, "shop")], { team: "web" }, 4)).toBeUndefined();
    expect(frozenBy([freeze(5, "shop")], undefined, 4)?.endsAt).toBe(5);
  });
});
