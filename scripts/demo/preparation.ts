import { unlessAborted } from "./interruption.ts";
import type { Program } from "./program.ts";
import { screen } from "./screen.ts";
import { good, seconds } from "./style.ts";

const limitMs = 60_000;

/** What has been started so far. Disposing it ends everything in the reverse order. */
export class Preparation implements AsyncDisposable {
  readonly programs: Program[] = [];
  /** Aborted by `stop`, and when a program ends by itself. */
  readonly signal: AbortSignal;
  readonly #failed = new AbortController();
  readonly #owned = new AsyncDisposableStack();

  constructor(stop: AbortSignal) {
    this.signal = AbortSignal.any([stop, this.#failed.signal]);
  }

  own<T extends AsyncDisposable>(started: T): T {
    return this.#owned.use(started);
  }

  run(program: Program): Program {
    this.programs.push(program);
    void program.ended.then((how) => this.#failed.abort(new Error(how)));
    return this.#owned.use(program);
  }

  /** One line for one piece of work, with its time. @throws Error when it takes more than a minute, where `limited` */
  async step<T>(what: string, work: () => Promise<T>, detail: (result: T) => string, limited = true): Promise<T> {
    const began = performance.now();
    const limit = AbortSignal.timeout(limitMs);
    const signal = limited ? AbortSignal.any([this.signal, limit]) : this.signal;
    const result = await unlessAborted(work(), signal).catch((error: unknown) => {
      throw error === limit.reason ? new Error(`${what}: not ready within ${seconds(limitMs)}`, { cause: error }) : error;
    });
    screen.note(`  ${good("✓")} ${what.padEnd(18)} ${seconds(performance.now() - began).padStart(9)}   ${detail(result)}`);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}
