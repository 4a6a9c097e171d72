import { spreadOf, type Spread } from "../statistics.ts";
import { table } from "../table.ts";

/** A figure of a scenario, measured once. */
interface Sample {
  /** `b1`. */
  readonly scenario: string;
  readonly figure: string;
  readonly subject: string;
  readonly resources: number;
  readonly connections: number;
  readonly value: number;
}

/** All samples of a figure, one of each repeat. */
export interface Series extends Omit<Sample, "value"> {
  readonly values: readonly number[];
}

/** The part of a sample that its figures share. */
export type Place = Omit<Sample, "figure" | "value">;

const keyOf = ({
  scenario,
  figure,
  subject,
  resources,
  connections,
}: Omit<Sample, "value">): string =>
  JSON.stringify([scenario, figure, subject, resources, connections]);

/** Collects the samples of a run, in the order of their figures. */
export class Samples {
  readonly #series = new Map<string, Omit<Series, "values"> & { readonly values: number[] }>();

  add(place: Place, figures: Readonly<Record<string, number | undefined>>): void {
    for (const [figure, value] of Object.entries(figures)) {
      if (value === undefined) continue;
      const key = keyOf({ ...place, figure });
      const series = this.#series.get(key) ?? { ...place, figure, values: [] };
      this.#series.set(key, series);
      series.values.push(value);
    }
  }

  get series(): Series[] {
    return [...this.#series.values()];
  }
}

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
