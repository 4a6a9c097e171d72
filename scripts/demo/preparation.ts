import { createServer } from "node:net";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../../src/lib/errors.ts";
import type { OperatorProcess } from "../../test/lab/real/processes/operator-process.ts";
import type {
  ProcessOptions,
  VaultsyncProcess,
} from "../../test/lab/real/processes/vaultsync-process.ts";
import { good, screen, seconds } from "./output.ts";

/** The reason of the demo's abort signal after Ctrl-C. */
export class Interrupted extends Error {
  constructor(signal: string) {
    super(`stopped by ${signal}`);
    this.name = "Interrupted";
  }
}

/**
 * Returns a signal that the first SIGINT, SIGTERM or SIGHUP aborts. The second one exits
 * immediately.
 */
export function interruption(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(130);
      stop.abort(new Interrupted(signal));
    });
  }
  return stop.signal;
}

/**
 * Settles like `promise`, or rejects with the signal's reason. The work behind `promise` is not
 * cancelled.
 */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Time in ms within which both programs stop after SIGTERM. */
const graceMs = 20_000;

/**
 * Returns the options of a child process that stops when the demo ends in any way, even by `kill
 * -9`. Ctrl-C reaches the demo only: the demo stops everything in order.
 */
export function stoppingWithParent(logFile: string): ProcessOptions {
  const stopWithParent = new URL("stop-with-parent.ts", import.meta.url).href;
  return { nodeArgs: ["--import", stopWithParent], detached: true, holdInput: true, logFile };
}

/** Stops a child process, with SIGKILL when SIGTERM takes too long. */
async function stopProcess(child: VaultsyncProcess): Promise<void> {
  const kill = setTimeout(() => void child.stop("SIGKILL"), graceMs);
  await child.stop("SIGTERM");
  clearTimeout(kill);
}

/** Rejects when the port is in use. @throws Error that says what to do */
export async function checkPortIsFree(port: number): Promise<void> {
  const probe = createServer();
  try {
    const listening = once(probe, "listening");
    probe.listen(port, "127.0.0.1");
    await listening;
  } catch (error) {
    const inUse = codeOf(error) === "EADDRINUSE";
    throw new Error(
      `port ${port} of 127.0.0.1, the vault's, ${inUse ? "is in use" : "is not available"}: stop the program that uses it, ` +
        "or choose another port: npm run demo -- --vault-port 8201",
      { cause: error },
    );
  }
  probe.close();
  await once(probe, "close");
}

/** Resolves when /readyz responds with 200. */
export async function operatorReady(operator: OperatorProcess, signal: AbortSignal): Promise<void> {
  while ((await operator.page("/readyz")).status !== 200) await sleep(50, undefined, { signal });
}

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
