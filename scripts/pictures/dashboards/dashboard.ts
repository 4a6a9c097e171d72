import { readFileSync } from "node:fs";
import { z } from "zod";
import { monitoringFile, type Part } from "../../../test/lab/monitoring/rules.ts";

const gridPos = z.object({ x: z.int(), y: z.int(), w: z.int(), h: z.int() });
const target = z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string() });
const threshold = z.object({ color: z.string(), value: z.number().nullable() });
const defaults = z.object({
  unit: z.string(),
  decimals: z.int().optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  thresholds: z.object({ steps: z.array(threshold) }).optional(),
  custom: z.object({ stacking: z.object({ mode: z.enum(["none", "normal"]) }) }).optional(),
});
const panel = z.discriminatedUnion("type", [
  z.object({ type: z.literal("row"), id: z.int(), title: z.string(), gridPos }),
  z.object({
    type: z.enum(["stat", "timeseries"]),
    id: z.int(),
    title: z.string(),
    description: z.string(),
    gridPos,
    fieldConfig: z.object({ defaults }),
    targets: z.array(target),
  }),
]);
const dashboard = z.object({
  uid: z.string(),
  title: z.string(),
  schemaVersion: z.int(),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(panel),
});

export type Dashboard = z.output<typeof dashboard>;
export type ChartPanel = Extract<
  Dashboard["panels"][number],
  { readonly type: "stat" | "timeseries" }
>;

/**
 * Returns the dashboard of a part of deploy/monitoring. @throws ZodError when it has anything that
 * the pictures do not show
 */
export function readDashboard(part: Part): Dashboard {
  return dashboard.parse(JSON.parse(readFileSync(monitoringFile(part, "dashboard.json"), "utf8")));
}

/** Returns the panels with queries. */
export function chartsOf({ panels }: Dashboard): ChartPanel[] {
  return panels.filter((one): one is ChartPanel => one.type !== "row");
}

/**
 * Returns a query with all namespaces and connections, as Grafana sends it. `rateInterval` has a
 * unit.
 */
export const queryOf = (expr: string, rateInterval: string): string =>
  expr
    .replaceAll("$__rate_interval", rateInterval)
    .replaceAll(/\$(namespace|connection)\b/gu, ".*");

/** Returns the name of a series in the legend. */
export const legendOf = (format: string, labels: Readonly<Record<string, string>>): string =>
  format.replaceAll(/\{\{(\w+)\}\}/gu, (_, label: string) => labels[label] ?? "");
