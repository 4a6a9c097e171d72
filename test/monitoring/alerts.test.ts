import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { anchorsIn } from "../lab/docs/markdown.ts";
import { alertsOf, parts } from "../lab/monitoring/rules.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/monitoring.md"), "utf8");
const caseFile = z.object({
  tests: z.array(
    z.object({
      promql_expr_test: z.array(z.object({ expr: z.string(), exp_samples: z.array(z.unknown()) })),
    }),
  ),
});

const endToEnd = { operator: "alerts.test.ts", vault: "vault-alerts.test.ts" };

describe.each(parts)("alerts of the %s", (part) => {
  const alerts = alertsOf(part);
  const cases = readFileSync(join(import.meta.dirname, `${part}-alerts.yaml`), "utf8");

  test("each has a case in which it fires, and one in which it does not", () => {
    const expected = caseFile.parse(parse(cases)).tests.flatMap((one) => one.promql_expr_test);
    for (const { alert } of alerts) {
      const ofAlert = expected.filter(
        ({ expr }) => expr === `ALERTS{alertname="${alert}", alertstate="firing"}`,
      );
      const fires = ofAlert.map((one) => one.exp_samples.length > 0);
      expect(fires.includes(true), alert).toBe(true);
      expect(fires.includes(false), alert).toBe(true);
    }
  });

  test("each fires in an end-to-end test, from a real fault", () => {
    const tests = readFileSync(join(import.meta.dirname, "../faults", endToEnd[part]), "utf8");
    expect(alerts.filter(({ alert }) => !tests.includes(`"${alert}"`))).toEqual([]);
  });

  test("each has a section in docs/monitoring.md, with commands or a link to them", () => {
    for (const { alert, annotations } of alerts) {
      expect(annotations.runbook_url).toBe(`docs/monitoring.md#${alert.toLowerCase()}`);
      expect(anchorsIn(page)).toContain(alert.toLowerCase());
      const section = page.split(`\n### ${alert}\n`)[1]?.split("\n#")[0] ?? "";
      expect(section).toMatch(/```|\]\(#/u);
    }
  });
});

test("docs/monitoring.md has no section of an alert that does not exist", () => {
  const sections = [...page.matchAll(/^### (\w+)$/gmu)].map(([, name]) => name);
  expect(sections).toEqual(parts.flatMap((part) => alertsOf(part).map(({ alert }) => alert)));
});
