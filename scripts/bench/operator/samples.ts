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
