import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { ApiError } from "../lib/api-error.ts";
import type { RetryCause, WorkQueue } from "./work-queue.ts";

interface ResyncOptions {
  /** Time in milliseconds in which every key is requeued once; 0 turns it off. */
  readonly everyMs: number;
  /** Returns the keys of all objects that exist. */
  readonly keys: () => Iterable<string>;
}

/** Minimum time between two steps in milliseconds. */
const STEP_MS = 1_000;
/**
 * Minimum number of keys of a step. A single reconcile, seconds after the last, costs three times
 * as much as one of fifty.
 */
const STEP_KEYS = 50;

/**
 * Requeues every key once per round of `everyMs`, in steps that are spread evenly, until the signal
 * is aborted. A key that appears during a round is in the next one. A missed wake-up thus delays a
 * resource, but not permanently.
 */
export async function resync(
  { everyMs, keys }: ResyncOptions,
  requeue: (key: string) => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (everyMs <= 0) return;
  while (!signal.aborted) {
    const round = [...keys()];
    const steps = Math.min(
      Math.ceil(round.length / STEP_KEYS),
      Math.max(1, Math.floor(everyMs / STEP_MS)),
    );
    for (let step = 0; step < steps && !signal.aborted; step += 1) {
      const share = round.slice(
        Math.floor((step * round.length) / steps),
        Math.floor(((step + 1) * round.length) / steps),
      );
      await pause(everyMs / steps);
      if (!signal.aborted) for (const key of share) requeue(key);
    }
    if (steps === 0) await pause(everyMs);
  }

  /** Returns when the time has passed or the signal was aborted. */
  function pause(ms: number): Promise<void> {
    return clock.sleep(ms, signal).catch(() => {});
  }
}

/**
 * The event that a reconciliation waits for. Whatever the event, the key is reconciled again after
 * `atMostMs` at the latest: a missed wake-up costs time only.
 */
export interface Wait {
  readonly for: "connection" | "target" | "namespace" | "time";
  readonly atMostMs: number;
}

/** The attempt failed in an expected way that a retry may resolve. */
interface Retry {
  readonly outcome: "retry";
  readonly cause: Exclude<RetryCause, "unexpected">;
  /** The reason in a few words, without figures or values: a changed reason is logged. */
  readonly reason: string;
  /** Minimum time before the retry, in milliseconds. */
  readonly atLeastMs?: number | undefined;
}

/** The attempt came to an end. */
interface Done {
  readonly outcome: "done";
  readonly wait?: Wait | undefined;
  /** True if the attempt found that the resource is not ready: no retry resolves that. */
  readonly notReady?: boolean | undefined;
  /** True if the object does not exist: its deadline is dropped. */
  readonly gone?: boolean | undefined;
}

/** Result of a reconciliation of an object that does not exist. */
export const GONE: ReconcileResult = { outcome: "done", gone: true };

/** Result of a reconciliation. */
export type ReconcileResult = Done | Retry;

/**
 * The outcome of a reconciliation: `not_ready` if it found a problem that no retry resolves,
 * `error` for an unexpected failure, `aborted` when the shutdown interrupted it.
 */
export type ReconcileOutcome = "done" | "not_ready" | "retry" | "error" | "aborted";

/** Observes every reconciliation; implemented by the metrics. Must not throw. */
export interface ControllerObserver {
  reconciled(controller: string, outcome: ReconcileOutcome, durationMs: number): void;
}

export interface ControllerOptions {
  readonly name: string;
  readonly queue: WorkQueue;
  /** Reconciles one key. The signal is aborted at the end of the drain time. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult>;
  readonly resync?: ResyncOptions;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer: ControllerObserver;
  /** Ends the loop when aborted: no further key is taken, running reconciliations may finish. */
  readonly signal: AbortSignal;
}

/** Time in milliseconds that running reconciliations may take after the signal is aborted. */
const DRAIN_MS = 15_000;

/**
 * Takes keys from the queue and reconciles them, as many in parallel as the limits of the queue
 * allow, until `signal` is aborted; resolves when the last reconciliation has ended. Never rejects.
 *
 * A key whose reconciliation asks for it, or throws, is retried after the key's backoff or the
 * minimum time of the retry, whichever is longer. An error of the API server is an expected reason;
 * anything else that is thrown is logged with its stack frames. A failure of one key never affects
 * another.
 */
export async function runController(options: ControllerOptions): Promise<void> {
  const { queue, signal, clock } = options;
  const drained = new AbortController();
  using timers = new DisposableStack();
  const stop = (): void => {
    queue.shutdown();
    timers.use(clock.timer(DRAIN_MS, () => drained.abort(signal.reason)));
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop);
  const attempts = new Attempts(options);
  const work = [reconcileAll(queue, (key) => attempts.reconcile(key, drained.signal))];
  if (options.resync)
    work.push(resync(options.resync, (key) => queue.add(key, "background"), clock, signal));
  await Promise.all(work);
}

async function reconcileAll(
  queue: WorkQueue,
  reconcile: (key: string) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  for (let key = await queue.take(); key !== undefined; key = await queue.take()) {
    const taken = key;
    const attempt = reconcile(taken).then(() => {
      running.delete(attempt);
      queue.done(taken);
    });
    running.add(attempt);
  }
  await Promise.all(running);
}

/** Attempts to reconcile keys, and what follows from their results. */
class Attempts {
  readonly #options: ControllerOptions;
  /** Logged reasons of the keys that are retried. */
  readonly #logged = new Map<string, string>();

  constructor(options: ControllerOptions) {
    this.#options = options;
  }

  async reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { name, clock, observer, reconcile } = this.#options;
    const start = clock.monotonic();
    let outcome: ReconcileOutcome;
    try {
      outcome = this.#follow(key, await reconcile(key, signal), signal);
    } catch (error) {
      outcome = this.#thrown(key, error, signal);
    }
    observer.reconciled(name, outcome, clock.monotonic() - start);
  }

  #follow(key: string, result: ReconcileResult, signal: AbortSignal): ReconcileOutcome {
    const { queue } = this.#options;
    if (result.outcome === "retry") return this.#retry(key, result, signal);
    queue.forget(key);
    this.#logged.delete(key);
    if (result.gone === true) queue.drop(key);
    if (result.wait !== undefined) queue.addAfter(key, result.wait.atMostMs);
    return result.notReady === true ? "not_ready" : "done";
  }

  #thrown(key: string, error: unknown, signal: AbortSignal): ReconcileOutcome {
    if (signal.aborted) return "aborted";
    if (error instanceof ApiError) {
      return this.#retry(
        key,
        { cause: "api", reason: error.kind, atLeastMs: error.retryAfterMs },
        signal,
      );
    }
    const { name, queue, logger } = this.#options;
    queue.retry(key, "unexpected");
    logger.warn(
      { controller: name, key, failures: queue.failures(key), ...traceOf(error) },
      "reconcile failed",
    );
    return "error";
  }

  /**
   * A first failure, such as a conflict, often ends with the retry: from the second failure on,
   * each change of the reason is logged.
   */
  #retry(
    key: string,
    { cause, reason, atLeastMs }: Omit<Retry, "outcome">,
    signal: AbortSignal,
  ): ReconcileOutcome {
    if (signal.aborted) return "aborted";
    const { name, queue, logger } = this.#options;
    queue.retry(key, cause, atLeastMs);
    const failures = queue.failures(key);
    const fields = { controller: name, key, reason, failures };
    if (failures === 1) logger.debug(fields, "retrying");
    else if (this.#logged.get(key) !== reason) {
      this.#logged.set(key, reason);
      logger.info(fields, "still failing, retrying");
    }
    return "retry";
  }
}

/**
 * Returns the name and stack frames of an error, without its message: it may contain a secret
 * value.
 */
function traceOf(error: unknown): object {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = error.stack?.split("\n").filter((line) => line.startsWith("    at ")) ?? [];
  return { error: error.name, at: frames.slice(0, 4).map((line) => line.trim().slice(3)) };
}
