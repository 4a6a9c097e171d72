import type { Clock } from "../../lib/clock.ts";
import { isObject } from "../../lib/is-object.ts";
import type { Logger } from "../../lib/logger.ts";
import type { WorkQueue } from "./work-queue.ts";

/**
 * A failure that a retry cannot resolve. The controller does not requeue the key, which is reconciled again only when it is added
 * to the queue.
 */
export class TerminalError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TerminalError";
  }
}

/** Result of a successful reconciliation. */
export interface ReconcileResult {
  /** Time after which the key is requeued, in milliseconds; if absent, only a change adds it to the queue. */
  readonly requeueAfterMs?: number | undefined;
}

/** The outcome of a reconciliation; `aborted` when the shutdown interrupted it. */
export type ReconcileOutcome = "success" | "error" | "terminal" | "aborted";

/** Observes every reconciliation; implemented by the metrics. Must not throw. */
export interface ControllerObserver {
  reconciled(controller: string, outcome: ReconcileOutcome, durationMs: number): void;
}

export interface ControllerOptions {
  readonly name: string;
  readonly queue: WorkQueue;
  /** Reconciles one key. The signal is aborted at the end of the drain time. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer?: ControllerObserver;
  /** Maximum number of keys reconciled in parallel; 16 by default. */
  readonly concurrency?: number;
  /** Drain time: how long running reconciliations may continue after `signal` is aborted, in milliseconds; 15 s by default. */
  readonly drainMs?: number;
  /** Ends the loop when aborted: no further key is taken, running reconciliations may finish. */
  readonly signal: AbortSignal;
}

/**
 * Takes keys from the queue and reconciles them until `signal` is aborted; resolves when the last reconciliation has ended. Never
 * rejects.
 *
 * A reconciliation that rejects is retried after the key's backoff or the error's own `retryAfterMs`, whichever is longer; a
 * `TerminalError` is not retried. A failure of one key never affects another.
 */
export async function runController(options: ControllerOptions): Promise<void> {
  const { queue, signal, clock, concurrency = 16, drainMs = 15_000 } = options;
  const drained = new AbortController();
  using timers = new DisposableStack();
  const stop = (): void => {
    queue.shutdown();
    timers.use(clock.timer(drainMs, () => drained.abort(signal.reason)));
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  await Promise.all(Array.from({ length: concurrency }, () => work(options, drained.signal)));
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
    outcome = onFailure(options, key, error, signal);
  }
  observer?.reconciled(name, outcome, clock.monotonic() - start);
  queue.done(key);
}

function onFailure(options: ControllerOptions, key: string, error: unknown, signal: AbortSignal): ReconcileOutcome {
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
  const delay = isObject(error) ? error["retryAfterMs"] : undefined;
  return typeof delay === "number" && delay > 0 ? delay : 0;
}

/** Returns the name and stack frames of an error, without its message, which may contain a secret value. */
function traceOf(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = error.stack?.split("\n").filter((line) => line.startsWith("    at ")) ?? [];
  return { error: error.name, at: frames.slice(0, 4).map((line) => line.trim().slice(3)) };
}
