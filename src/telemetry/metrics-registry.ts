import {
  collectDefaultMetrics,
  Counter,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from "prom-client";
import { packageVersion } from "../lib/package-version.ts";

/**
 * Time between two measurements of the event loop's lag, in milliseconds: each is a wake-up of an
 * idle process.
 */
const LAG_PRECISION_MS = 100;
/** Gauges of prom-client whose names end like the name of a counter. */
const MISNAMED = ["handles", "requests", "resources"].map((what) => `nodejs_active_${what}_total`);
const LAG_FIGURES = ["min", "max", "mean", "p50", "p90", "p99"];

/** The definition of a metric; its samples have no labels other than `labels`. */
export interface MetricDescription<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
}

/** A metric of a registry, for its documentation. */
export interface MetricDefinition extends Required<MetricDescription<string>> {
  readonly type: "counter" | "gauge" | "histogram";
}

/** An isolated set of Prometheus metrics. */
export class MetricsRegistry {
  readonly #registry = new Registry();
  readonly #definitions: MetricDefinition[] = [];

  /** Returns every metric except the process metrics, in the order of their creation. */
  get definitions(): readonly MetricDefinition[] {
    return this.#definitions;
  }

  counter<L extends string = never>({ name, help, labels = [] }: MetricDescription<L>): Counter<L> {
    this.#definitions.push({ type: "counter", name, help, labels });
    return new Counter({ name, help, labelNames: labels, registers: [this.#registry] });
  }

  /**
   * @param collect sets the gauge whenever the metrics are read; a series that it does not set is
   * removed
   */
  gauge<L extends string = never>(
    { name, help, labels = [] }: MetricDescription<L>,
    collect?: (gauge: Gauge<L>) => void,
  ): Gauge<L> {
    this.#definitions.push({ type: "gauge", name, help, labels });
    const gauge: Gauge<L> = new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [this.#registry],
      ...(collect && {
        collect: () => {
          gauge.reset();
          collect(gauge);
        },
      }),
    });
    return gauge;
  }

  /** @param buckets upper bounds, in the unit at the end of the name */
  histogram<L extends string = never>(
    { name, help, labels = [] }: MetricDescription<L>,
    buckets: readonly number[],
  ): Histogram<L> {
    this.#definitions.push({ type: "histogram", name, help, labels });
    return new Histogram({
      name,
      help,
      labelNames: labels,
      buckets: [...buckets],
      registers: [this.#registry],
    });
  }

  /** Adds the gauge that names the version of a program. */
  addBuildInfo(name: string, program: string): void {
    const help = `1, with the version of the ${program} as a label.`;
    this.gauge({ name, help, labels: ["version"] }).set({ version: packageVersion() }, 1);
  }

  /**
   * Adds the metrics of the process: memory, CPU, event loop lag, open handles. Call it once per
   * registry.
   */
  addProcessMetrics(): void {
    collectDefaultMetrics({
      register: this.#registry,
      eventLoopMonitoringPrecision: LAG_PRECISION_MS,
    });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
    for (const figure of LAG_FIGURES)
      this.#subtractPrecision(
        this.#registry.getSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`),
      );
  }

  /** Subtracts the interval of the measurements: Node reports the interval plus the lag. */
  #subtractPrecision(metric: Metric | undefined): void {
    if (!(metric instanceof Gauge))
      throw new Error("prom-client has another metric of the event loop's lag");
    const set = metric.set.bind(metric);
    Object.assign(metric, {
      set: (labels: {}, seconds: number) =>
        set(labels, Math.max(0, seconds - LAG_PRECISION_MS / 1_000)),
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Returns the metrics in the Prometheus text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
