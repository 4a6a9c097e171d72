import { codeOfSignal } from "./command-process.ts";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Ends this process immediately at a signal, whatever it waits for, and also as the first process
 * of a container. Nothing unfinished stays.
 */
export class ImmediateEnd implements Disposable {
  readonly #isEndless: boolean;
  readonly #cleanups: (() => void)[] = [];
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    for (const clean of this.#cleanups) clean();
    process.exit(this.#isEndless && signal === "SIGTERM" ? 0 : codeOfSignal(signal));
  };

  /** @param isEndless the process has no other end: SIGTERM is no failure */
  constructor(isEndless: boolean) {
    this.#isEndless = isEndless;
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  /** Calls `clean` before the end. It must not wait. */
  add(clean: () => void): void {
    this.#cleanups.push(clean);
  }

  [Symbol.dispose](): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }
}
