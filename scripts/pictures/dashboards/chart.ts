const BINARY = ["B", "KiB", "MiB", "GiB", "TiB"];
const suffixes: Readonly<Record<string, string>> = { reqps: " req/s", ops: " ops/s" };

function short(value: number, digits = 3): string {
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(0);
  return String(Number(value.toPrecision(digits)));
}

function seconds(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 0.001) return `${short(value * 1e6)} µs`;
  if (size < 1) return `${short(value * 1e3)} ms`;
  if (size < 60) return `${short(value)} s`;
  return size < 3_600 ? `${short(value / 60)} min` : `${short(value / 3_600)} h`;
}

function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(BINARY.length - 1, Math.floor(Math.log2(value) / 10));
  return `${short(value / 1_024 ** power)} ${BINARY[power]}`;
}

/** Returns a value in a unit of Grafana, as it writes it. */
export function formatValue(value: number, unit: string, decimals?: number): string {
  if (Number.isNaN(value)) return "–";
  if (unit === "s") return seconds(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "percentunit")
    return `${(value * 100).toFixed(decimals ?? (value > 0 && value < 0.1 ? 1 : 0))}%`;
  return `${short(value)}${suffixes[unit] ?? ""}`;
}

/** A named line of a chart: times in seconds, values. */
export interface Line {
  readonly name: string;
  readonly color: string;
  readonly points: readonly (readonly [number, number])[];
}

export interface ChartOptions {
  readonly width: number;
  readonly height: number;
  readonly unit: string;
  readonly stacked: boolean;
  readonly max: number | undefined;
  readonly start: number;
  readonly end: number;
}

const MARGIN = { left: 74, right: 10, top: 8, bottom: 22 };
/** Round distances of more than 10 s. */
const SECONDS = [15, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400];
/** Gap between two points beyond which a line is interrupted, in seconds. */
const GAP_SECONDS = 15;

/**
 * Returns a round distance between ticks: about `count` fit. Times and bytes are divided by 60 and
 * by powers of 2.
 */
function tickDistance(top: number, count: number, unit: string): number {
  const rough = top / count;
  if (unit === "s" && rough > 10) return SECONDS.find((step) => step >= rough) ?? rough;
  if (unit === "bytes") return 2 ** Math.ceil(Math.log2(rough));
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10;
  return step * power;
}

/** A point of an area: its time in seconds, and the values between which it is filled. */
type AreaPoint = readonly [at: number, low: number, high: number];

/** Returns the areas of lines: from zero, or from the line below. */
function areasOf(
  lines: readonly Line[],
  stacked: boolean,
): { color: string; points: AreaPoint[] }[] {
  const below = new Map<number, number>();
  return lines.map(({ color, points }) => ({
    color,
    points: points.map(([at, value]): AreaPoint => {
      const low = stacked ? (below.get(at) ?? 0) : 0;
      below.set(at, low + value);
      return [at, low, low + value];
    }),
  }));
}

/** Divides the points of an area where it is interrupted. */
function segmentsOf(points: readonly AreaPoint[]): AreaPoint[][] {
  const segments: AreaPoint[][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const point of points) {
    if (!Number.isFinite(point[2])) continue;
    if (point[0] - last > GAP_SECONDS) segments.push([]);
    segments.at(-1)?.push(point);
    last = point[0];
  }
  return segments;
}

/** Returns lines over time as SVG. */
export function timeChart(lines: readonly Line[], options: ChartOptions): string {
  const { width, height, unit, start, end } = options;
  const areas = areasOf(lines, options.stacked);
  const values = areas
    .flatMap(({ points }) => points.map(([, , high]) => high))
    .filter(Number.isFinite);
  const highest = options.max ?? Math.max(...values, 0);
  const distance = tickDistance(highest === 0 ? 1 : highest, 4, unit);
  const top = Math.max(distance, Math.ceil((highest / distance) * 0.999) * distance);
  const x = (at: number): number =>
    MARGIN.left + ((at - start) / (end - start)) * (width - MARGIN.left - MARGIN.right);
  const y = (value: number): number =>
    height - MARGIN.bottom - (value / top) * (height - MARGIN.top - MARGIN.bottom);
  const path = (points: readonly (readonly [number, number])[]): string =>
    points.map(([at, value]) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" L");
  const opacity = options.stacked ? 0.5 : 0.08;
  const shapes = areas.flatMap(({ color, points: all }) =>
    segmentsOf(all).map((points) => {
      const upper = path(points.map(([at, , high]) => [at, high]));
      const lower = path(points.map(([at, low]) => [at, low] as const).toReversed());
      const area = `<path d="M${upper} L${lower} Z" fill="${color}" opacity="${opacity}"/>`;
      return `${area}<path d="M${upper}" fill="none" stroke="${color}" stroke-width="1.5"/>`;
    }),
  );
  return `<svg width="${width}" height="${height}">${valueAxis(top, distance, options, y)}${timeAxis(options, x)}${shapes.join("")}</svg>`;
}

function valueAxis(
  top: number,
  distance: number,
  { width, unit }: ChartOptions,
  y: (value: number) => number,
): string {
  const ticks = Array.from(
    { length: Math.round(top / distance) + 1 },
    (_, index) => index * distance,
  );
  return ticks
    .map((value) => {
      const line = `<line x1="${MARGIN.left}" x2="${width - MARGIN.right}" y1="${y(value)}" y2="${y(value)}" class="grid"/>`;
      return `${line}<text x="${MARGIN.left - 8}" y="${y(value) + 4}" text-anchor="end">${formatValue(value, unit)}</text>`;
    })
    .join("");
}

function timeAxis({ height, start, end }: ChartOptions, x: (at: number) => number): string {
  const times = Array.from(
    { length: Math.floor(end / 60) - Math.ceil(start / 60) + 1 },
    (_, index) => (Math.ceil(start / 60) + index) * 60,
  );
  return times
    .map((at) => {
      const line = `<line x1="${x(at)}" x2="${x(at)}" y1="${MARGIN.top}" y2="${height - MARGIN.bottom}" class="grid"/>`;
      return `${line}<text x="${x(at)}" y="${height - 6}" text-anchor="middle">${new Date(at * 1_000).toISOString().slice(11, 16)}</text>`;
    })
    .join("");
}

/** Returns the line of a number over time as SVG, without axes. */
export function sparkline(
  { points, color }: Line,
  { width, height, start, end }: Omit<ChartOptions, "unit" | "stacked" | "max">,
): string {
  const finite = points.filter(([, value]) => Number.isFinite(value));
  const top = Math.max(...finite.map(([, value]) => value), Number.MIN_VALUE);
  const path = finite
    .map(
      ([at, value]) =>
        `${(((at - start) / (end - start)) * width).toFixed(1)},${(height - (value / top) * (height - 4)).toFixed(1)}`,
    )
    .join(" L");
  if (path === "") return "";
  return `<svg width="${width}" height="${height}" class="spark"><path d="M0,${height} L${path} L${width},${height} Z" fill="${color}" opacity="0.15"/><path d="M${path}" fill="none" stroke="${color}"/></svg>`;
}
