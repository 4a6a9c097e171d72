import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { TerminalError } from "./terminal-error.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface ReconcileResult {
  /** Look at the key again after so many milliseconds; absent: when something changes. */
  readonly requeueAfterMs?: number | undefined;
}

/** How a reconcile ended: `aborted` when it was cut short by the shutdown. */
export type ReconcileOutcome = "success" | "error" | "terminal" | "aborted";

/** Told about every reconcile; the metrics are its one implementation. Must not throw. */
export interface ControllerObserver {
  reconciled(controller: string, outcome: ReconcileOutcome, durationMs: number): void;
}

export interface ControllerOptions {
  readonly name: string;
  readonly queue: WorkQueue;
  /** One pass over one key. The signal is aborted when the time to drain is over. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer?: ControllerObserver;
  /** How many keys at once; 16 unless told. */
  readonly concurrency?: number;
  /** How long running reconciles may go on after `signal` is aborted, in milliseconds; 15 s unless told. */
  readonly drainMs?: number;
  /** Aborting it ends the loop: no further key is taken, running reconciles may finish. */
  readonly signal: AbortSignal;
}

/**
 * Takes keys from the queue and reconciles them until `signal` is aborted; resolves when the last reconcile has ended. Never rejects.
 *
 * A reconcile that rejects is repeated after the key's back-off, or after the error's own `retryAfterMs` where that is longer; a
 * `TerminalError` is not repeated. One key's failure never touches another.
 */
export async function runController(options: ControllerOptions): Promise<void> {
  const { queue, signal, clock, concurrency = 16, drainMs = 15_000 } = options;
  const hard = new AbortController();
  using timers = new DisposableStack();
  const stop = (): void => {
    queue.shutdown();
    timers.use(clock.timer(drainMs, () => hard.abort(signal.reason)));
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  await Promise.all(Array.from({ length: concurrency }, () => work(options, hard.signal)));
  signal.removeEventListener("abort", stop);
}

async function work(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  for (let key = await options.queue.take(); key !== undefined; key = await options.queue.take()) {
    await reconcileOne(options, key, signal);
  }
}

async function reconcileOne(options: ControllerOptions, key: string, signal: AbortSignal): Promise<void> {
  const { name, queue, clock, observer, reconcile } = options;
  const start = clock.monotonic();
  let outcome: ReconcileOutcome = "success";
  try {
    const { requeueAfterMs } = await reconcile(key, signal);
    queue.forget(key);
    if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
  } catch (error) {
    outcome = failed(options, key, error, signal);
  }
  observer?.reconciled(name, outcome, clock.monotonic() - start);
  queue.done(key);
}

function failed(options: ControllerOptions, key: string, error: unknown, signal: AbortSignal): ReconcileOutcome {
  const { name, queue, logger } = options;
  if (signal.aborted) return "aborted";
  if (error instanceof TerminalError) {
    queue.forget(key);
    logger.warn({ controller: name, key, ...traceOf(error) }, "terminal error, not requeued");
    return "terminal";
  }
  queue.addRateLimited(key, retryAfterOf(error));
  logger.warn({ controller: name, key, failures: queue.failures(key), ...traceOf(error) }, "reconcile failed");
  return "error";
}

function retryAfterOf(error: unknown): number {
  const told = typeof error === "object" && error !== null && "retryAfterMs" in error ? error.retryAfterMs : undefined;
  return typeof told === "number" && told > 0 ? told : 0;
}

/** Where it came from, without the message: whoever wrote that may have put a value into it. */
function traceOf(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = error.stack?.split("\n").filter((line) => line.startsWith("    at ")) ?? [];
  return { error: error.name, at: frames.slice(0, 4).map((line) => line.trim().slice(3)) };
}
