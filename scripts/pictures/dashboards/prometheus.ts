import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { freePort } from "../../../test/lab/control-plane/supervisor/free-port.ts";
import { waitUntil } from "../../../test/lab/clock/wait-until.ts";

const matrix = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});

/** The values of a series: times in seconds since the epoch. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [number, number])[];
}

export interface Target {
  /** Host and port of /metrics. */
  readonly address: string;
  /** Labels that the Prometheus Operator would add. */
  readonly labels: Readonly<Record<string, string>>;
}

export const SCRAPE_SECONDS = 2;

/** A Prometheus server that scrapes processes of this machine. */
export class Prometheus implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #url: string;

  private constructor(child: ChildProcess, directory: string, url: string) {
    this.#url = url;
    this.#child = child;
    this.#directory = directory;
  }

  /** Starts the program at `path`. @param ruleFiles rule files of Prometheus by their name */
  static async start(
    path: string,
    targets: readonly Target[],
    ruleFiles: Readonly<Record<string, string>>,
  ): Promise<Prometheus> {
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-prometheus-"));
    for (const [name, text] of Object.entries(ruleFiles))
      await writeFile(join(directory, name), text);
    const config = {
      global: { scrape_interval: `${SCRAPE_SECONDS}s`, evaluation_interval: "5s" },
      rule_files: Object.keys(ruleFiles),
      scrape_configs: [
        {
          job_name: "vaultsync",
          static_configs: targets.map(({ address, labels }) => ({ targets: [address], labels })),
        },
      ],
    };
    await writeFile(join(directory, "prometheus.yml"), stringify(config));
    const address = `127.0.0.1:${await freePort()}`;
    const flags = [
      "--config.file=prometheus.yml",
      "--storage.tsdb.path=data",
      `--web.listen-address=${address}`,
    ];
    const child = spawn(path, flags, { cwd: directory, stdio: ["ignore", "ignore", "ignore"] });
    const prometheus = new Prometheus(child, directory, `http://${address}`);
    await waitUntil("Prometheus is ready", async () => (await prometheus.#get("/-/ready")).ok);
    return prometheus;
  }

  #get(path: string): Promise<Response> {
    return fetch(this.#url + path);
  }

  /**
   * Returns the series of a query between two times, in seconds since the epoch. @throws Error with
   * what Prometheus says
   */
  async range(query: string, start: number, end: number, step: number): Promise<Series[]> {
    const parameters = new URLSearchParams({
      query,
      start: String(start),
      end: String(end),
      step: String(step),
    });
    const response = await this.#get(`/api/v1/query_range?${parameters.toString()}`);
    if (!response.ok) throw new Error(`${query}: ${await response.text()}`);
    return matrix.parse(await response.json()).data.result.map(({ metric, values }) => ({
      labels: metric,
      points: values.map(([at, value]) => [at, Number(value)] as const),
    }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await exited;
    await rm(this.#directory, { recursive: true, force: true });
  }
}
