import { abortable } from "./interruption.ts";
import { good, screen, seconds } from "./output.ts";
import type { ChildProgram } from "./processes.ts";

const limitMs = 60_000;

/** Owns everything that has been started. Disposing it stops everything in reverse order. */
export class Preparation implements AsyncDisposable {
  readonly processes: ChildProgram[] = [];
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

  run(program: ChildProgram): ChildProgram {
    this.processes.push(program);
    void program.ended.then((how) => this.#failed.abort(new Error(how)));
    return this.#owned.use(program);
  }

  /** Prints one line per piece of work, with its time. @throws Error when it takes more than a minute and `limited` is true */
  async step<T>(what: string, work: () => Promise<T>, detail: (result: T) => string, limited = true): Promise<T> {
    const start = performance.now();
    const limit = AbortSignal.timeout(limitMs);
    const signal = limited ? AbortSignal.any([this.signal, limit]) : this.signal;
    const result = await abortable(work(), signal).catch((error: unknown) => {
      throw error === limit.reason ? new Error(`${what}: not ready within ${seconds(limitMs)}`, { cause: error }) : error;
    });
    screen.note(`  ${good("✓")} ${what.padEnd(18)} ${seconds(performance.now() - start).padStart(9)}   ${detail(result)}`);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
