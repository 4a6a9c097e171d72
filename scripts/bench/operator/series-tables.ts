import { spreadOf, type Spread } from "../statistics.ts";
import { table } from "../table.ts";
import type { Series } from "./samples.ts";

const short = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);

/** Formats the median of samples, and their interquartile range if there are more than one. */
export function spreadText({ median, iqr, count }: Spread): string {
  return count > 1 ? `${short(median)} ±${short(iqr)}` : short(median);
}

/** Returns a table for each number of resources and connections, with a column for each subject. */
export function seriesTables(series: readonly Series[]): string {
  const groups = Object.entries(
    Object.groupBy(series, ({ resources, connections }) => `${resources}, ${connections}`),
  );
  return groups.map(([title, own = []]) => tableOf(title, own)).join("\n");
}

function tableOf(title: string, series: readonly Series[]): string {
  const subjects = [...new Set(series.map(({ subject }) => subject))];
  const rows = Map.groupBy(series, ({ scenario, figure }) => `${scenario} ${figure}`);
  const body = [...rows].map(([row, own]) => [
    row,
    ...subjects.map((subject) =>
      spreadText(spreadOf(own.find((one) => one.subject === subject)?.values ?? [])),
    ),
  ]);
  return table([
    [`resources, connections: ${title}`, ...subjects],
    ...body.map((row) => row.map((cell) => cell.replace("NaN", "–"))),
  ]);
}
