import { sendRequest } from "../../test/support/vault/vault-client.ts";

/** Load of a server process in a period. */
export interface ServerLoad {
  /** CPU time of all threads, in ms. */
  readonly cpuMs: number;
  /** Delays of the event loop beyond the 10 ms between its samples, in ms. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

/** Delay of a sample of an idle event loop, which Node.js includes, in ms. */
const SAMPLE_MS = 10;

/** Measures a server by its metrics. The delays are those since the last measurement. */
export class ServerMeter {
  readonly #url: string;

  constructor(metricsUrl: string) {
    this.#url = `${metricsUrl}/metrics`;
  }

  async #metrics(): Promise<(name: string) => number> {
    const { bytes } = await sendRequest(this.#url, { method: "GET" });
    const values = new Map(
      bytes
        .toString()
        .split("\n")
        .map((line) => line.split(" ", 2) as [string, string]),
    );
    return (name) => Number(values.get(name)) * 1000;
  }

  /** Returns the load while `work` runs, and its result. */
  async during<T>(work: () => Promise<T>): Promise<[ServerLoad, T]> {
    const before = await this.#metrics();
    const result = await work();
    const after = await this.#metrics();
    const delay = (name: string): number => Math.max(0, after(`nodejs_eventloop_lag_${name}_seconds`) - SAMPLE_MS);
    const cpu = "process_cpu_seconds_total";
    return [{ cpuMs: after(cpu) - before(cpu), delayP99Ms: delay("p99"), delayMaxMs: delay("max") }, result];
  }
}
