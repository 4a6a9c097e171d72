/** Metrics, labels and values that a text with PromQL names. */
export interface NamedMetrics {
  readonly names: ReadonlySet<string>;
  /** Matchers of labels by metric: `=~` and `!~` as each of their alternatives. */
  readonly matchers: readonly {
    readonly metric: string;
    readonly label: string;
    readonly value: string;
  }[];
  /** Labels in `by`, `without` and `on`. */
  readonly grouping: ReadonlySet<string>;
}

const METRIC = /\b((?:vaultsync|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/gu;
const MATCHER = /([a-z_]+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/gu;
const GROUPING = /\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/gu;

/**
 * Returns the metrics, labels and values of labels in a text. Values with a variable of a dashboard
 * are omitted.
 */
export function namedMetrics(text: string): NamedMetrics {
  const found = [...text.matchAll(METRIC)].map(([, metric = "", matchers = ""]) => ({
    metric,
    matchers,
  }));
  return {
    names: new Set(found.map(({ metric }) => metric)),
    matchers: found.flatMap(({ metric, matchers }) =>
      [...matchers.matchAll(MATCHER)].flatMap(([, label = "", value = ""]) =>
        value.includes("$")
          ? [{ metric, label, value: "" }]
          : value.split("|").map((each) => ({ metric, label, value: each })),
      ),
    ),
    grouping: new Set(
      [...text.matchAll(GROUPING)]
        .flatMap(([, labels = ""]) => labels.split(",").map((label) => label.trim()))
        .filter(Boolean),
    ),
  };
}
