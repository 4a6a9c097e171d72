import { spreadOf } from "../statistics.ts";
import { table } from "../table.ts";
import type { Figures, Speed } from "./visit.ts";

/** A measured visit. */
export interface MeasuredVisit {
  readonly subject: string;
  readonly secrets: number;
  readonly speed: Speed;
  readonly visit: "first" | "second";
  readonly figures: Figures;
}

/** All runs of a visit: the values of each figure. */
interface Series extends Omit<MeasuredVisit, "figures"> {
  readonly figures: Readonly<Record<string, readonly number[]>>;
}

/** Returns a series for each subject, number of secrets, speed and visit, in order of appearance. */
export function seriesOf(visits: readonly MeasuredVisit[]): Series[] {
  const groups = Map.groupBy(visits, ({ subject, secrets, speed, visit }) =>
    JSON.stringify([subject, secrets, speed, visit]),
  );
  return [...groups.values()].flatMap((runs) =>
    runs.slice(0, 1).map((first) => ({
      ...first,
      figures: Object.fromEntries(
        Object.keys(first.figures).map((name) => [
          name,
          runs.map(({ figures }) => figures[name] ?? 0),
        ]),
      ),
    })),
  );
}

const short = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

/** Returns the medians of a figure, one for each subject, and the ratio of the first to the second. */
function cellsOf(series: readonly Series[], figure: string): string[] {
  const medians = series.map(({ figures }) => spreadOf(figures[figure] ?? []).median);
  const [now = 0, before] = medians;
  const ratio = before === undefined ? [] : [before === 0 ? "–" : (now / before).toFixed(2)];
  return [...medians.map(short), ...ratio];
}

/** Returns a table for each number of secrets, speed and visit, with a column for each subject. */
export function visitTables(visits: readonly MeasuredVisit[]): string {
  const groups = Map.groupBy(
    seriesOf(visits),
    ({ secrets, speed, visit }) => `${secrets} secrets, ${speed}, ${visit} visit`,
  );
  return [...groups]
    .map(([title, series]) => {
      const subjects = series.map(({ subject }) => subject);
      const figures = Object.keys(series[0]?.figures ?? {});
      return table([
        [title, ...subjects, ...(subjects.length > 1 ? ["ratio"] : [])],
        ...figures.map((figure) => [figure, ...cellsOf(series, figure)]),
      ]);
    })
    .join("\n");
}
