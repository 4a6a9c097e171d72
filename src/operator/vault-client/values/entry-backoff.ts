import { Backoff } from "../../../lib/backoff.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Random } from "../../../lib/random.ts";
import { isVaultError, TransientError, type VaultError } from "../vault-error.ts";

const MAX_MS = 300_000;
/** An entry that the vault rejects is not likely to be readable a second later. */
const PERMANENT_BASE_MS = 60_000;
const TRANSIENT_BASE_MS = 1_000;
/** Maximum number of entries that are remembered; the oldest is forgotten first. */
const MAX_ENTRIES = 10_000;

interface Failing {
  readonly name: string;
  readonly backoff: Backoff;
  readonly error: VaultError;
  /** Monotonic time before which it is not requested again. */
  readonly until: number;
}

/**
 * Delays requests of all callers for entries that the vault could not read: 1 s … 5 min, from one
 * minute on if the vault rejected the request. Failures that concern the whole connection do not
 * count.
 */
export class EntryBackoff {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #failing = new Map<string, Failing>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** @throws the last error of this entry, while its delay lasts */
  check(key: string): void {
    const failing = this.#failing.get(key);
    const left = (failing?.until ?? 0) - this.#clock.monotonic();
    if (failing && left > 0) throw withDelay(failing.error, left);
  }

  succeeded(key: string): void {
    this.#failing.delete(key);
  }

  failed(key: string, name: string, error: unknown): void {
    if (!isVaultError(error) || !concernsEntry(error)) return;
    const baseMs = error.kind === "permanent" ? PERMANENT_BASE_MS : TRANSIENT_BASE_MS;
    const before = this.#failing.get(key);
    const backoff =
      before?.error.kind === error.kind
        ? before.backoff
        : new Backoff({ baseMs, maxMs: MAX_MS }, this.#random);
    const least = error instanceof TransientError ? (error.retryAfterMs ?? 0) : 0;
    this.#failing.delete(key);
    this.#failing.set(key, {
      name,
      backoff,
      error,
      until: this.#clock.monotonic() + Math.max(least, backoff.next()),
    });
    const [oldest] = this.#failing.keys();
    if (this.#failing.size > MAX_ENTRIES && oldest !== undefined) this.#failing.delete(oldest);
  }

  /** Ends the delays of these names: the vault lists something else. */
  forget(names: ReadonlySet<string>): void {
    for (const [key, { name }] of this.#failing) if (names.has(name)) this.#failing.delete(key);
  }
}

function concernsEntry(error: VaultError): boolean {
  if (error.kind === "transient")
    return error.code !== "circuit_open" && error.code !== "unreachable";
  return error.kind === "permanent" || error.kind === "unexpected-response";
}

function withDelay(error: VaultError, retryAfterMs: number): VaultError {
  if (!(error instanceof TransientError)) return error;
  const { operation, code, status, detail } = error;
  return new TransientError(operation, code, { status, detail, retryAfterMs });
}
