import { describe, expect, test } from "vitest";
import {
  chartsOf,
  legendOf,
  queryOf,
  readDashboard,
} from "../../scripts/pictures/dashboards/dashboard.ts";
import { formatValue } from "../../scripts/pictures/dashboards/chart.ts";
import { namedMetrics, parts } from "../lab/monitoring/rules.ts";

describe.each(parts)("the dashboard of the %s", (part) => {
  const dashboard = readDashboard(part);
  const charts = chartsOf(dashboard);

  test("has panels with different ids, which do not overlap", () => {
    expect(charts.length).toBeGreaterThan(15);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = dashboard.panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
      expect(x + w <= 24, title).toBe(true);
      return Array.from(
        { length: w * h },
        (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`,
      );
    });
    expect(new Set(cells).size).toBe(cells.length);
  });

  test("uses only variables that it defines, and limits every query to the namespace", () => {
    const known = new Set([
      ...dashboard.templating.list.map(({ name }) => name),
      "__rate_interval",
    ]);
    for (const { title, targets } of charts) {
      for (const { expr } of targets) {
        const used = [...expr.matchAll(/\$(\w+)/gu)].map(([, name]) => name!);
        expect(
          used.filter((name) => !known.has(name)),
          title,
        ).toEqual([]);
        expect(namedMetrics(expr).names.size).toBeGreaterThan(0);
        expect(
          expr
            .replaceAll(/\w+\{[^}]*namespace=~"\$namespace"[^}]*\}/gu, "")
            .match(/\b(vaultsync|process|nodejs)_\w+/u),
          title,
        ).toBe(null);
      }
    }
  });
});

test("variables and legends are filled in as by Grafana", () => {
  expect(
    queryOf('rate(a{namespace=~"$namespace", connection=~"$connection"}[$__rate_interval])', "8s"),
  ).toBe('rate(a{namespace=~".*", connection=~".*"}[8s])');
  expect(legendOf("{{kind}} {{reason}}", { kind: "VaultSecret" })).toBe("VaultSecret ");
});

test.each([
  [0, "s", "0 s"],
  [0.0123, "s", "12.3 ms"],
  [90, "s", "1.5 min"],
  [3 * 1024 ** 2, "bytes", "3 MiB"],
  [0.05, "percentunit", "5.0%"],
  [1, "percentunit", "100%"],
  [12.34, "reqps", "12.3 req/s"],
  [Number.NaN, "short", "–"],
])("%d in the unit %s is %s", (value, unit, text) => {
  expect(formatValue(value, unit)).toBe(text);
});
