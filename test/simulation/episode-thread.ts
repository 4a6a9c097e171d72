import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Failure, RunEpisode } from "./simulate.ts";

/** A thread that runs episodes, one at a time. */
export class EpisodeThread implements AsyncDisposable {
  readonly #worker: Worker;

  /** @param bug a planted bug of the operator in this thread */
  constructor(bug?: string) {
    this.#worker = new Worker(new URL("episode-worker.ts", import.meta.url), { workerData: bug });
  }

  readonly run: RunEpisode = async (seed, steps) => {
    this.#worker.postMessage([seed, steps], []);
    const [failure] = (await once(this.#worker, "message")) as [Failure | undefined];
    return failure;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
