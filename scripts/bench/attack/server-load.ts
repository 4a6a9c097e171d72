import { pathToFileURL } from "node:url";
import { join } from "node:path";
import type { VaultServerProcess } from "../../../test/lab/real/processes/vault-server-process.ts";
import { sendRequest } from "../../../test/lab/vault/vault-client.ts";

/** Load of a server process in a period. */
export interface ServerLoad {
  /** CPU time of all threads, in ms. */
  readonly cpuMs: number;
  /** CPU time of the longest turn of the event loop, in ms. Other programs do not change it. */
  readonly turnMs: number;
  /** Delays of the event loop, in ms. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
}

/** Arguments of Node for a server that is measured. */
export const probeArgs = [
  "--import",
  pathToFileURL(join(import.meta.dirname, "../turn-probe.ts")).href,
];

/**
 * Measures a server by its metrics and its probe. The delays and turns count since the last
 * measurement.
 */
export class ServerMeter {
  readonly #server: VaultServerProcess;
  #turns = 0;

  constructor(server: VaultServerProcess) {
    this.#server = server;
  }

  async #longestTurn(): Promise<number> {
    this.#server.signal("SIGUSR2");
    this.#turns += 1;
    return this.#server.waitForOutput(({ stderr }) => {
      const turns = [...stderr.matchAll(/^longest turn ([0-9.]+)$/gmu)];
      return turns.length < this.#turns ? undefined : Number(turns.at(-1)?.[1]);
    });
  }

  async #metrics(): Promise<(name: string) => number> {
    const { bytes } = await sendRequest(`${this.#server.metricsUrl}/metrics`, { method: "GET" });
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
    await this.#longestTurn();
    const result = await work();
    const turnMs = await this.#longestTurn();
    const after = await this.#metrics();
    const delay = (name: string): number => after(`nodejs_eventloop_lag_${name}_seconds`);
    const cpu = "process_cpu_seconds_total";
    return [
      {
        cpuMs: after(cpu) - before(cpu),
        turnMs,
        delayP99Ms: delay("p99"),
        delayMaxMs: delay("max"),
      },
      result,
    ];
  }
}
