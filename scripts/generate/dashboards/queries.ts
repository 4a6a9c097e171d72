import type { Section } from "./grafana.ts";

/** Selects the namespaces that the user of the dashboard selected. */
export const ns = 'namespace=~"$namespace"';

const selector = (filter: string): string => (filter === "" ? ns : `${ns}, ${filter}`);

/** Returns the rate of a counter. `filter` is a further selector, such as `result="hit"`. */
export const rate = (counter: string, filter = ""): string =>
  `rate(${counter}{${selector(filter)}}[$__rate_interval])`;

/** Returns a quantile of a histogram, whose name is without `_bucket`, by labels. */
export function quantile(
  q: number,
  histogram: string,
  by: readonly string[] = [],
  filter = "",
): string {
  return `histogram_quantile(${q}, sum by (${[...by, "le"].join(", ")}) (${rate(`${histogram}_bucket`, filter)}))`;
}

/** Returns the panels of the processes that report the metric `own`. */
export function processSection(own: string): Section {
  const inOwn = `and on (namespace, instance) ${own}{${ns}}`;
  return {
    title: "Process",
    lines: [
      [
        {
          title: "Memory",
          description: "Resident memory of the process, and the heap that JavaScript uses.",
          unit: "bytes",
          queries: {
            "{{pod}} resident": `process_resident_memory_bytes{${ns}} ${inOwn}`,
            "{{pod}} heap": `nodejs_heap_size_used_bytes{${ns}} ${inOwn}`,
          },
        },
        {
          title: "Processor",
          description: "Processor time per second: 1 is one core.",
          unit: "short",
          queries: { "{{pod}}": `${rate("process_cpu_seconds_total")} ${inOwn}` },
        },
        {
          title: "Event loop delay",
          description:
            "99th percentile of the delay of the event loop. Above 100 ms, everything is late.",
          unit: "s",
          queries: { "{{pod}}": `nodejs_eventloop_lag_p99_seconds{${ns}} ${inOwn}` },
        },
      ],
    ],
  };
}
