/** The metrics of one process at one time. */
export interface Scrape {
  /** Time of the scrape, in seconds since the epoch. */
  readonly at: number;
  /** Labels that Prometheus would add. */
  readonly labels: Readonly<Record<string, string>>;
  /** Body of /metrics. */
  readonly text: string;
}

interface Sample {
  readonly value: number;
  /**
   * True if the value grows while the process stays in its state: true of a counter or a time, but
   * not of another gauge.
   */
  readonly grows: boolean;
}

/** Reads /metrics of a process. */
export async function scrape(
  url: string,
  labels: Readonly<Record<string, string>>,
): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`);
  if (response.status !== 200) throw new Error(`${url}/metrics: ${response.status}`);
  return { at: Date.now() / 1_000, labels, text: await response.text() };
}

/** Returns the value of a series in the text of /metrics, `undefined` without it. */
export function valueIn(text: string, series: string): number | undefined {
  const line = text.split("\n").find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

function samplesIn({ text, labels }: Scrape): Map<string, Sample> {
  const types = new Map(
    [...text.matchAll(/^# TYPE (\w+) (\w+)$/gmu)].map(([, name = "", type = ""]) => [name, type]),
  );
  const added = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  const samples = new Map<string, Sample>();
  for (const [, name = "", own = "", value = ""] of text.matchAll(
    /^(vaultsync_\w+)(?:\{(.*)\})? (\S+)$/gmu,
  )) {
    const all = [...added, ...(own === "" ? [] : [own])].join(", ");
    const grows = types.get(name) !== "gauge" || name.endsWith("_timestamp_seconds");
    samples.set(`${name}{${all}}`, { value: Number(value), grows });
  }
  return samples;
}

/** The interval of the series, in seconds, as in the PodMonitors. */
export const INTERVAL = 30;

/**
 * Returns the series of a process that stays in the state of two scrapes, in the notation of
 * promtool: what was counted between them is counted in each further interval at the same rate, and
 * gauges keep their value.
 */
export function continued(
  before: Scrape,
  now: Scrape,
  count: number,
): { series: string; values: string }[] {
  const earlier = samplesIn(before);
  return [...samplesIn(now)].map(([series, { value, grows }]) => {
    const change = grows
      ? ((value - (earlier.get(series)?.value ?? 0)) / (now.at - before.at)) * INTERVAL
      : 0;
    return { series, values: `${value}${change < 0 ? "-" : "+"}${Math.abs(change)}x${count}` };
  });
}
