import { abortable } from "./interruption.ts";
import { good, screen, seconds } from "./output.ts";
import type { VaultsyncProcess } from "../../test/lab/real/processes/vaultsync-process.ts";
import { stopProcess } from "./processes.ts";

const limitMs = 60_000;

/** Owns everything that has been started. Disposing it stops everything in reverse order. */
export class Preparation implements AsyncDisposable {
  /** Child processes by name. */
  readonly processes = new Map<string, VaultsyncProcess>();
  /** Aborted by `stop`, and when a child process ends by itself. */
  readonly signal: AbortSignal;
  readonly #failed = new AbortController();
  readonly #owned = new AsyncDisposableStack();

  constructor(stop: AbortSignal) {
    this.signal = AbortSignal.any([stop, this.#failed.signal]);
  }

  own<T extends AsyncDisposable>(started: T): T {
    return this.#owned.use(started);
  }

  run<T extends VaultsyncProcess>(name: string, child: T): T {
    this.processes.set(name, child);
    void child.result.then(({ code }) =>
      this.#failed.abort(new Error(`the ${name} exited unexpectedly with ${code}`)),
    );
    this.#owned.defer(() => stopProcess(child));
    return child;
  }

  /**
   * Prints one line per piece of work, with its time. @throws Error when it takes more than a
   * minute and `limited` is true
   */
  async step<T>(
    what: string,
    work: () => Promise<T>,
    detail: (result: T) => string,
    limited = true,
  ): Promise<T> {
    const start = performance.now();
    const limit = AbortSignal.timeout(limitMs);
    const signal = limited ? AbortSignal.any([this.signal, limit]) : this.signal;
    const result = await abortable(work(), signal).catch((error: unknown) => {
      throw error === limit.reason
        ? new Error(`${what}: not ready within ${seconds(limitMs)}`, { cause: error })
        : error;
    });
    screen.note(
      `  ${good("✓")} ${what.padEnd(18)} ${seconds(performance.now() - start).padStart(9)}   ${detail(result)}`,
    );
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
