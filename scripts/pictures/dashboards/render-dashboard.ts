import { sparkline, timeChart, type Line, formatValue } from "./chart.ts";
import { chartsOf, legendOf, queryOf, type ChartPanel, type Dashboard } from "./dashboard.ts";
import { SCRAPE_SECONDS, type Prometheus } from "./prometheus.ts";

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Returns text for an element or attribute of HTML. */
const escapeHtml = (text: string): string =>
  text.replaceAll(/[&<>"]/gu, (character) => entities[character] ?? character);

/** Size of the grid of Grafana, in pixels. */
const GRID = { columns: 24, row: 38, gap: 8, width: 1_600 };
const COLUMN = (GRID.width - GRID.gap) / GRID.columns;
/** Colors of series and of thresholds, as in Grafana's dark theme. */
const palette = [
  "#73bf69",
  "#f2cc0c",
  "#8ab8ff",
  "#ff780a",
  "#f2495c",
  "#5794f2",
  "#b877d9",
  "#c8a2c8",
  "#37872d",
  "#fade2a",
  "#447ebc",
  "#c15c17",
];
const named: Readonly<Record<string, string>> = {
  green: "#73bf69",
  orange: "#ff9830",
  red: "#f2495c",
  blue: "#6ea5f8",
};

const style = `
  body { margin: 0; background: #111217; color: #ccccdc; font: 12px Inter, "Helvetica Neue", Arial, sans-serif; }
  header { padding: 14px 12px 6px; font-size: 19px; font-weight: 500; } header span { color: #8e8e99; font-size: 13px; margin-left: 12px; }
  main { position: relative; width: ${GRID.width}px; }
  section { position: absolute; box-sizing: border-box; background: #181b1f; border: 1px solid #25272c; border-radius: 3px; overflow: hidden; }
  section.row { background: none; border: none; font-size: 15px; font-weight: 500; padding: 10px 2px; }
  h2 { margin: 0; padding: 8px 10px 2px; font-size: 13px; font-weight: 500; }
  svg { display: block; } svg text { fill: #9a9aa5; font-size: 11px; } .grid { stroke: #26282e; }
  .legend { display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 0 12px; max-height: 34px; overflow: hidden; color: #b4b4c0; }
  .legend i { display: inline-block; width: 13px; height: 4px; border-radius: 2px; margin-right: 6px; vertical-align: middle; }
  .value { position: absolute; left: 0; right: 0; top: 34px; text-align: center; font-size: 38px; font-weight: 500; }
  .spark { position: absolute; bottom: 0; } .empty { color: #8e8e99; text-align: center; padding-top: 50px; }`;

/** Times of a picture, in seconds since the epoch. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** A dashboard as a page, and the titles of its panels without data. */
export interface RenderedDashboard {
  readonly html: string;
  readonly height: number;
  readonly empty: readonly string[];
}

async function linesOf(
  { targets }: ChartPanel,
  prometheus: Prometheus,
  { start, end }: Window,
): Promise<Line[]> {
  const step = Math.max(SCRAPE_SECONDS, Math.ceil((end - start) / 240));
  const lines: Line[] = [];
  for (const { expr, legendFormat } of targets) {
    for (const { labels, points } of await prometheus.range(
      queryOf(expr, `${SCRAPE_SECONDS * 8}s`),
      start,
      end,
      step,
    )) {
      if (!points.some(([, value]) => Number.isFinite(value))) continue;
      lines.push({
        name: legendOf(legendFormat, labels),
        color: palette[lines.length % palette.length] ?? "",
        points,
      });
    }
  }
  return lines;
}

function statBody(
  { fieldConfig }: ChartPanel,
  [line]: readonly Line[],
  size: { width: number; height: number },
  window: Window,
): string {
  const { unit, decimals, thresholds } = fieldConfig.defaults;
  const value = line?.points.findLast(([, one]) => Number.isFinite(one))?.[1] ?? Number.NaN;
  const step = thresholds?.steps.findLast((one) => one.value === null || value >= one.value);
  const color = named[step?.color ?? "blue"] ?? "";
  const spark =
    line === undefined
      ? ""
      : sparkline({ ...line, color }, { width: size.width, height: 46, ...window });
  return `${spark}<div class="value" style="color: ${color}">${formatValue(value, unit, decimals)}</div>`;
}

function chartBody(
  { fieldConfig }: ChartPanel,
  lines: readonly Line[],
  size: { width: number; height: number },
  window: Window,
): string {
  const { unit, max, custom } = fieldConfig.defaults;
  if (lines.length === 0) return '<div class="empty">No data</div>';
  const stacked = custom?.stacking.mode === "normal";
  const svg = timeChart(lines, {
    width: size.width,
    height: size.height - 70,
    unit,
    stacked,
    max,
    ...window,
  });
  const legend = lines.map(
    ({ name, color }) => `<span><i style="background: ${color}"></i>${escapeHtml(name)}</span>`,
  );
  return `${svg}<div class="legend">${legend.join("")}</div>`;
}

/** Queries every panel of a dashboard, and returns it as a page. */
export async function renderDashboard(
  dashboard: Dashboard,
  prometheus: Prometheus,
  window: Window,
): Promise<RenderedDashboard> {
  const sections: string[] = [];
  const empty: string[] = [];
  const place = ({ x, y, w, h }: ChartPanel["gridPos"]): string =>
    `left: ${GRID.gap + x * COLUMN}px; top: ${y * GRID.row}px; width: ${w * COLUMN - GRID.gap}px; height: ${h * GRID.row - GRID.gap}px`;
  for (const one of dashboard.panels) {
    if (one.type === "row")
      sections.push(
        `<section class="row" style="${place(one.gridPos)}">${escapeHtml(one.title)}</section>`,
      );
  }
  for (const panel of chartsOf(dashboard)) {
    const lines = await linesOf(panel, prometheus, window);
    if (lines.length === 0) empty.push(panel.title);
    const size = {
      width: panel.gridPos.w * COLUMN - GRID.gap - 2,
      height: panel.gridPos.h * GRID.row - GRID.gap,
    };
    const body = (panel.type === "stat" ? statBody : chartBody)(panel, lines, size, window);
    sections.push(
      `<section style="${place(panel.gridPos)}"><h2>${escapeHtml(panel.title)}</h2>${body}</section>`,
    );
  }
  const height =
    50 + GRID.row * Math.max(...dashboard.panels.map(({ gridPos: { y, h } }) => y + h));
  const html = `<!doctype html><meta charset="utf-8"><style>${style}</style><header>${escapeHtml(dashboard.title)}</header><main>${sections.join("")}</main>`;
  return { html, height, empty };
}
