import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Planted } from "./plant.ts";
import type { Failure, RunEpisode } from "./simulate.ts";
import type { Command } from "./commands.ts";

/** Kind of the episodes of an EpisodeThread. */
export interface EpisodeThreadOptions extends Planted {
  /** Episodes of VaultPushes instead of VaultSecrets and VaultFiles. */
  readonly pushes?: boolean;
}

/**
 * Episodes that one thread runs. Node keeps what a signal that is never aborted calls, and with it
 * the world of each process that was killed: about 2 MB an episode.
 */
const EPISODES_PER_WORKER = 400;

/** A thread that runs episodes, one at a time. */
export class EpisodeThread<C = Command> implements AsyncDisposable {
  readonly #options: EpisodeThreadOptions;
  #worker: Worker;
  #episodes = 0;

  constructor(options: EpisodeThreadOptions = {}) {
    this.#options = options;
    this.#worker = this.#start();
  }

  readonly run: RunEpisode<C> = async (...episode) => {
    if (++this.#episodes % EPISODES_PER_WORKER === 0) {
      await this.#worker.terminate();
      this.#worker = this.#start();
    }
    this.#worker.postMessage(episode, []);
    const [failure] = (await once(this.#worker, "message")) as [Failure<C> | undefined];
    return failure;
  };

  #start(): Worker {
    return new Worker(new URL("episode-worker.ts", import.meta.url), { workerData: this.#options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
