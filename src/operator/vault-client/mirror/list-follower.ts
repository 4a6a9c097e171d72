import { Backoff } from "../../../lib/backoff.ts";
import type { Clock, Timer } from "../../../lib/clock.ts";
import { jitter, type Random } from "../../../lib/random.ts";
import { isVaultError, TransientError } from "../vault-error.ts";

/** Longest and shortest time in seconds for which a vault is asked to hold a request. */
const MAX_HOLD_S = 50;
const MIN_HOLD_S = 5;
/** Time in seconds by which a request is held shorter than one that was cut. */
const MARGIN_S = 1;
/** Time in ms after which a longer hold is tried: the path may have changed. */
const LONGER_AFTER_MS = 3_600_000;

/**
 * Learns for how many seconds the path to a vault keeps a request open: a proxy may end it early.
 * One cut shortens the hold to a half at most, because the vault may have restarted just then; a
 * path that ends requests sooner does so again.
 */
export class HoldTime {
  readonly #clock: Clock;
  #seconds = MAX_HOLD_S;
  #longerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Longest time in seconds for the next held request; 0: the path holds no request. */
  get seconds(): number {
    const now = this.#clock.monotonic();
    if (now >= this.#longerAt)
      this.#set(this.#seconds === 0 ? MIN_HOLD_S : Math.min(MAX_HOLD_S, this.#seconds * 2), now);
    return this.#seconds;
  }

  /** Records that a held request was cut after so many ms, although the vault responds. */
  cut(afterMs: number): void {
    const half = Math.floor(this.#seconds / 2);
    const below = Math.floor(afterMs / 1_000) - MARGIN_S;
    const seconds = below < this.#seconds ? Math.max(half, below) : half;
    this.#set(seconds < MIN_HOLD_S ? 0 : seconds, this.#clock.monotonic());
  }

  #set(seconds: number, now: number): void {
    this.#seconds = seconds;
    this.#longerAt = seconds === MAX_HOLD_S ? Number.POSITIVE_INFINITY : now + LONGER_AFTER_MS;
  }
}

/** Minimum time in ms from a list to the next request for it. */
export const MIN_GAP_MS = 1_000;
/**
 * Time in seconds that asks whether the vault holds requests at all. It delays a list by little if
 * the vault does.
 */
const PROBE_WAIT_S = 1;
/** Longest delay in ms after a failure. */
const MAX_DELAY_MS = 300_000;
/** Longest delay after a failure by the interval. Jitter shortens it to the interval on average. */
const LONGEST_DELAY = 4 / 3;
/**
 * Longest time in ms from the first list after a failure to the next one, and its share of the
 * interval. The vault may hold the next list. At the end of an outage a connection thus lists twice
 * within an interval, the most that it does without an outage too.
 */
const RECOVERY_GAP_MS = 10_000;
const RECOVERY_GAP = 1 / 6;
/**
 * Number of held requests in a row that may end early without a change before the next one waits
 * for the interval.
 */
const MAX_EARLY_ENDS = 3;
/** Minimum time in ms after which a proxy may have ended a held request that fails. */
const MIN_CUT_MS = 1_000;

/** Result of one request for a list. */
export interface ListResult {
  /** The vault responded with a list, changed or not; `false`: with "not modified". */
  readonly hasBody: boolean;
  readonly changed: boolean;
  /** The next request can be conditional: the vault can hold it. */
  readonly hasTag: boolean;
  /**
   * The vault holds conditional requests until the list changes (RFC 7240, `wait`). `undefined`: it
   * was not asked.
   */
  readonly holds: boolean | undefined;
  /** Time in ms until the next list, if it is due before the end of the interval. */
  readonly dueInMs: number | undefined;
}

export interface ListFollowerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Time in ms from the start of one list to the start of the next, ± 10 %. */
  readonly intervalMs: number;
  /** Asks the vault to hold requests until the list changes. */
  readonly wait: boolean;
  /** Lists once; a failure is retried with backoff. */
  readonly list: (waitSeconds: number | undefined, signal: AbortSignal) => Promise<ListResult>;
  readonly onFailure: (error: unknown) => void;
}

/** A request in progress. A held one is aborted when the list is wanted earlier. */
interface Request {
  readonly held: boolean;
  readonly abort: AbortController;
}

/**
 * Requests one list repeatedly: once per interval, or continuously if the vault holds requests
 * until the list changes; on request within a second; after a failure 1 s … 5 min later, but about
 * once per interval. An unavailable vault thus neither gets more requests than a healthy one nor is
 * noticed later. A held request that is cut is no failure if the next list, sent immediately and
 * not held, succeeds. Never sends two requests concurrently.
 */
export class ListFollower implements AsyncDisposable {
  readonly #options: ListFollowerOptions;
  readonly #backoff: Backoff;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #request: Request | undefined;
  #timer: Timer | undefined;
  /** Monotonic times: of the next request, and before which none is sent. */
  #dueAt = Number.POSITIVE_INFINITY;
  #notBefore = Number.NEGATIVE_INFINITY;
  #holds: boolean | undefined;
  readonly #holdTime: HoldTime;
  /** A caller waits for the response to the next request. */
  #isAwaited = false;
  /**
   * Time in ms after which the last request was cut. The next one is not held, and shows whether
   * the vault responds.
   */
  #cutAfterMs: number | undefined;
  /** The last request failed. */
  #failing = false;
  #earlyEnds = 0;
  /** Monotonic time of the next `dueInMs`: a held request must end then. */
  #knownChangeAt = Number.POSITIVE_INFINITY;

  constructor(options: ListFollowerOptions) {
    this.#options = options;
    this.#holdTime = new HoldTime(options.clock);
    const maxMs = Math.min(MAX_DELAY_MS, options.intervalMs * LONGEST_DELAY);
    this.#backoff = new Backoff({ baseMs: 1_000, maxMs }, options.random);
    this.#dueBy(options.clock.monotonic());
  }

  /** Time in ms until the next request; 0 while one is in progress. */
  get nextInMs(): number {
    return this.#request ? 0 : Math.max(0, this.#dueAt - this.#options.clock.monotonic());
  }

  /**
   * Lists in `inMs`, or as soon as allowed after that. A list in progress is followed by another
   * one. The vault does not hold that request: the caller waits for the response, whether the list
   * changed or not.
   */
  soon(inMs = 0): void {
    this.#isAwaited = true;
    this.#dueBy(Math.max(this.#options.clock.monotonic() + inMs, this.#notBefore));
  }

  /** As `soon`, but ends the delay after a failure: its cause may be gone. */
  retryNow(): void {
    this.#backoff.reset();
    this.#notBefore = Number.NEGATIVE_INFINITY;
    this.soon();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#stop.abort();
    this.#request?.abort.abort();
    await this.#running;
  }

  #dueBy(at: number): void {
    if (at >= this.#dueAt) return;
    this.#dueAt = at;
    this.#arm();
  }

  #arm(): void {
    this.#timer?.[Symbol.dispose]();
    if (this.#stop.signal.aborted || (this.#request && !this.#request.held)) return;
    const { clock } = this.#options;
    const delay = this.#dueAt - clock.monotonic();
    if (delay <= 0) this.#start();
    else if (Number.isFinite(delay)) this.#timer = clock.timer(delay, () => this.#start());
  }

  #start(): void {
    if (this.#request) this.#request.abort.abort();
    else this.#running = this.#list();
  }

  async #list(): Promise<void> {
    const { clock, list, onFailure } = this.#options;
    const start = clock.monotonic();
    const waitSeconds = this.#waitSeconds();
    this.#isAwaited = false;
    const request: Request = {
      held: this.#holds === true && waitSeconds !== undefined,
      abort: new AbortController(),
    };
    this.#request = request;
    this.#dueAt = Number.POSITIVE_INFINITY;
    let next: number;
    try {
      next = this.#succeeded(await list(waitSeconds, request.abort.signal), start);
    } catch (error) {
      const tookMs = clock.monotonic() - start;
      if (request.abort.signal.aborted) next = clock.monotonic();
      else if (request.held && tookMs >= MIN_CUT_MS && isCut(error)) {
        this.#cutAfterMs = tookMs;
        next = clock.monotonic();
      } else {
        next = this.#failed(error);
        if (!this.#stop.signal.aborted) onFailure(error);
      }
    }
    this.#request = undefined;
    this.#dueAt = Math.max(Math.min(this.#dueAt, next), this.#notBefore);
    this.#arm();
  }

  /** Returns for how many seconds the vault may hold the next request. */
  #waitSeconds(): number | undefined {
    const { clock, wait, intervalMs } = this.#options;
    // A held request would show only at its end that the vault responds again.
    if (!wait || this.#isAwaited || this.#failing || this.#cutAfterMs !== undefined)
      return undefined;
    if (this.#holds !== true) return PROBE_WAIT_S;
    const { seconds } = this.#holdTime;
    if (seconds === 0) return undefined;
    const longestMs = Math.min(intervalMs, this.#knownChangeAt - clock.monotonic());
    return Math.max(PROBE_WAIT_S, Math.min(seconds, Math.ceil(longestMs / 1_000)));
  }

  /** Returns the monotonic time of the next request. */
  #succeeded(result: ListResult, start: number): number {
    const { clock, random, intervalMs } = this.#options;
    const now = clock.monotonic();
    const gap = this.#failing ? Math.min(RECOVERY_GAP_MS, intervalMs * RECOVERY_GAP) : 0;
    this.#failing = false;
    if (this.#cutAfterMs !== undefined) this.#holdTime.cut(this.#cutAfterMs);
    this.#cutAfterMs = undefined;
    this.#backoff.reset();
    const early = now - start < MIN_GAP_MS;
    this.#notBefore = result.hasBody || early ? now + MIN_GAP_MS : now;
    this.#knownChangeAt = now + (result.dueInMs ?? Number.POSITIVE_INFINITY);
    this.#earlyEnds = early && !result.changed && result.holds === true ? this.#earlyEnds + 1 : 0;
    this.#holds = result.holds ?? this.#holds;
    const next = this.#followsClosely(result)
      ? Math.max(this.#notBefore, now + gap)
      : start + jitter(random, intervalMs, 0.1);
    return Math.max(now, Math.min(next, this.#knownChangeAt));
  }

  /**
   * Reports whether the vault may hold the next request: that request need not wait for the
   * interval.
   */
  #followsClosely({ hasTag }: ListResult): boolean {
    return (
      this.#options.wait &&
      hasTag &&
      this.#holds !== false &&
      this.#earlyEnds < MAX_EARLY_ENDS &&
      this.#holdTime.seconds > 0
    );
  }

  #failed(error: unknown): number {
    const now = this.#options.clock.monotonic();
    this.#failing = true;
    this.#cutAfterMs = undefined;
    const least = isVaultError(error) && "retryAfterMs" in error ? (error.retryAfterMs ?? 0) : 0;
    // No request was sent, so this is not another failure.
    const unsent = error instanceof TransientError && error.code === "circuit_open";
    this.#notBefore = now + (unsent ? least : Math.max(least, this.#backoff.next()));
    return this.#notBefore;
  }
}

/**
 * Reports whether a proxy may have ended a held request: not if the login failed, and not if the
 * failure names a time to wait.
 */
function isCut(error: unknown): boolean {
  if (!isVaultError(error) || error.kind === "auth") return false;
  return !("retryAfterMs" in error) || error.retryAfterMs === undefined;
}
