import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";

/** The two parts of deploy/monitoring. */
export type Part = "operator" | "vault";
export const parts: readonly Part[] = ["operator", "vault"];

const charts = { operator: "chart", vault: "vault-chart" } as const;

/** Returns the path of a file of a part. */
export const monitoringFile = (part: Part, name: string): string =>
  join(import.meta.dirname, "../../../deploy", charts[part], "files/monitoring", name);

const alert = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string(),
  labels: z.strictObject({ severity: z.enum(["warning", "critical"]) }),
  annotations: z.strictObject({
    summary: z.string(),
    description: z.string(),
    runbook_url: z.string(),
  }),
});
const prometheusRule = z.object({
  spec: z.strictObject({
    groups: z.array(z.strictObject({ name: z.string(), rules: z.array(alert) })),
  }),
});

/** Returns the rule file of Prometheus that a PrometheusRule contains. */
export function rulesOf(part: Part): z.output<typeof prometheusRule>["spec"] {
  return prometheusRule.parse(parse(readFileSync(monitoringFile(part, "rules.yaml"), "utf8"))).spec;
}

export const alertsOf = (part: Part): z.output<typeof alert>[] =>
  rulesOf(part).groups.flatMap(({ rules }) => rules);
