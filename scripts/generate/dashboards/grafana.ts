/** The unit of a panel, as Grafana names it. */
type Unit = "bytes" | "ops" | "percentunit" | "reqps" | "s" | "short";

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly unit: Unit;
}

/**
 * A panel that shows the last value of a query, in the color of the highest step that the value
 * reaches.
 */
interface Stat extends Panel {
  readonly query: string;
  /** The color below the first step, then each step with its color. */
  readonly colors: readonly [string, ...(readonly [value: number, color: string])[]];
  readonly decimals?: number;
}

/** A panel that shows queries over time. */
interface TimeSeries extends Panel {
  /** Each by its legend. */
  readonly queries: Readonly<Record<string, string>>;
  readonly stacked?: boolean;
  readonly max?: number;
}

export interface Section {
  readonly title: string;
  /** Panels from left to right, line by line. The panels of a line have one width. */
  readonly lines: readonly (readonly TimeSeries[])[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** The queries whose labels a user can select, by the name of the variable. */
  readonly variables: readonly Variable[];
  readonly stats: readonly Stat[];
  readonly sections: readonly Section[];
}

interface Variable {
  readonly name: string;
  readonly label: string;
  readonly query: string;
  readonly multi: boolean;
}

const COLUMNS = 24;
const HEIGHT = { stat: 4, row: 1, series: 7 };
const datasource = { type: "prometheus", uid: "${datasource}" };

interface Target {
  readonly legendFormat: string;
  readonly expr: string;
}

function frame({ title, description }: Panel, targets: readonly Target[]): object {
  const lettered = targets.map((target, index) => ({
    refId: String.fromCharCode("A".charCodeAt(0) + index),
    datasource,
    ...target,
  }));
  return { title, description, datasource, targets: lettered };
}

function statPanel(stat: Stat): object {
  const { unit, query, decimals } = stat;
  const [base, ...higher] = stat.colors;
  const steps = [
    { color: base, value: null },
    ...higher.map(([value, color]) => ({ color, value })),
  ];
  return {
    type: "stat",
    ...frame(stat, [{ expr: query, legendFormat: stat.title }]),
    fieldConfig: {
      defaults: {
        unit,
        color: { mode: "thresholds" },
        thresholds: { mode: "absolute", steps },
        decimals,
      },
      overrides: [],
    },
    options: {
      colorMode: "value",
      graphMode: "area",
      justifyMode: "auto",
      orientation: "auto",
      textMode: "auto",
      reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false },
    },
  };
}

function seriesPanel(series: TimeSeries): object {
  const { unit, queries, stacked = false, max } = series;
  const custom = {
    drawStyle: "line",
    lineInterpolation: "linear",
    lineWidth: 1,
    fillOpacity: stacked ? 40 : 8,
    showPoints: "never",
    spanNulls: false,
    stacking: { mode: stacked ? "normal" : "none", group: "A" },
  };
  const targets = Object.entries(queries).map(([legendFormat, expr]) => ({ expr, legendFormat }));
  return {
    type: "timeseries",
    ...frame(series, targets),
    fieldConfig: {
      defaults: { unit, color: { mode: "palette-classic" }, custom, min: 0, max },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "multi", sort: "desc" },
    },
  };
}

/** Returns all panels with their places on the grid. */
function panelsOf({ stats, sections }: Dashboard): object[] {
  const panels: object[] = [];
  let y = 0;
  const place = (line: readonly object[], h: number): void => {
    const w = COLUMNS / line.length;
    for (const [index, panel] of line.entries()) {
      panels.push({ ...panel, id: panels.length + 1, gridPos: { h, w, x: index * w, y } });
    }
    y += h;
  };
  place(stats.map(statPanel), HEIGHT.stat);
  for (const { title, lines } of sections) {
    place([{ type: "row", title, collapsed: false, panels: [] }], HEIGHT.row);
    for (const line of lines) place(line.map(seriesPanel), HEIGHT.series);
  }
  return panels;
}

function variable({ name, label, query, multi }: Variable): object {
  return {
    name,
    label,
    type: "query",
    datasource,
    definition: query,
    query: { qryType: 1, query, refId: "v" },
    refresh: 2,
    sort: 1,
    hide: 0,
    includeAll: true,
    allValue: ".*",
    multi,
    current: { text: "All", value: "$__all" },
  };
}

/** Returns a dashboard as JSON for Grafana, with a line for each panel. */
export function grafanaJson(dashboard: Dashboard): string {
  const { uid, title, description, variables } = dashboard;
  const source = {
    name: "datasource",
    label: "Data source",
    type: "datasource",
    query: "prometheus",
    refresh: 1,
    hide: 0,
    current: {},
  };
  const head = {
    uid,
    title,
    description,
    tags: ["vaultsync"],
    schemaVersion: 41,
    version: 1,
    editable: true,
    graphTooltip: 1,
    timezone: "browser",
    refresh: "30s",
    time: { from: "now-3h", to: "now" },
    templating: { list: [source, ...variables.map(variable)] },
    annotations: { list: [] },
    links: [],
  };
  const panels = panelsOf(dashboard).map((panel) => JSON.stringify(panel));
  return `${JSON.stringify(head).slice(0, -1)},"panels":[\n${panels.join(",\n")}\n]}\n`;
}
