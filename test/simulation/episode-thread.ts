import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Failure, RunEpisode } from "./simulate.ts";
import type { Command } from "./commands.ts";

/** Kind of the episodes of an EpisodeThread. */
export interface EpisodeThreadOptions {
  /** A planted bug of the operator in this thread. */
  readonly bug?: string | undefined;
  /** Episodes of VaultPushes instead of VaultSecrets and VaultFiles. */
  readonly pushes?: boolean;
}

/** A thread that runs episodes, one at a time. */
export class EpisodeThread<C = Command> implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(options: EpisodeThreadOptions = {}) {
    this.#worker = new Worker(new URL("episode-worker.ts", import.meta.url), {
      workerData: options,
    });
  }

  readonly run: RunEpisode<C> = async (seed, steps) => {
    this.#worker.postMessage([seed, steps], []);
    const [failure] = (await once(this.#worker, "message")) as [Failure<C> | undefined];
    return failure;
  };

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
