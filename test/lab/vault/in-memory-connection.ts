import type { ConnectionCallbacks } from "../../../src/operator/controllers/connection/connection-users.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import type {
  Connection,
  EntryReader,
  Health,
  Snapshot,
  WrittenVersion,
} from "../../../src/operator/vault-client/connection.ts";

const NONE: ReadonlySet<string> = new Set();

/** A connection without a vault: the test sets its snapshot and its health. */
export class InMemoryConnection implements Connection {
  snapshot: Snapshot | undefined;
  health: Health;
  token: Connection["token"];
  loginPause: Connection["loginPause"];
  closed = false;
  readonly #clock: Clock;
  readonly #callbacks: ConnectionCallbacks;

  constructor(clock: Clock, callbacks: ConnectionCallbacks) {
    this.#clock = clock;
    this.#callbacks = callbacks;
    this.health = { state: "starting", error: undefined };
  }

  /**
   * Simulates a complete list. Calls the same callbacks as a real connection: changed names, and a
   * changed health.
   */
  list({
    changed = [],
    secretCount = 1,
    fileCount,
  }: { changed?: string[]; secretCount?: number; fileCount?: number } = {}): void {
    const timestamps = { listedAt: this.#clock.now(), listedAtMonotonic: this.#clock.monotonic() };
    const before = this.snapshot?.progress("secret");
    const lists = (before?.lists ?? 0) + 1;
    const previousAt = before?.at ?? Number.NEGATIVE_INFINITY;
    const missingSince = (): number => timestamps.listedAt;
    const progress = () => ({ lists, at: timestamps.listedAtMonotonic, previousAt });
    const none = {
      progress,
      covers: () => true,
      matching: () => NONE,
      near: () => undefined,
      secrets: () => [],
      file: () => undefined,
      missingSince,
      lastListed: () => undefined,
    };
    this.snapshot = { ...timestamps, ...none, secretCount, fileCount };
    if (changed.length > 0) this.#callbacks.onChange({ secrets: new Set(changed), files: NONE });
    this.setHealth("healthy");
    this.#callbacks.onListed("secret");
  }

  /** Replaces the token and reports it. */
  changeToken(token: Connection["token"]): void {
    this.token = token;
    this.#callbacks.onTokenChange();
  }

  /** Sets the health and reports it if it changed. */
  setHealth(state: Health["state"], error?: Error): void {
    const changed = this.health.state !== state || this.health.error?.message !== error?.message;
    this.health = { state, error };
    if (changed) this.#callbacks.onHealth(this.health);
  }

  setReferences(..._references: readonly unknown[]): void {}
  pollSoon(): void {}
  listAgain(..._request: readonly unknown[]): Promise<void> {
    return Promise.resolve();
  }

  credentialsChanged(): void {}
  updateCa(): void {}

  reader(..._request: readonly unknown[]): EntryReader {
    return () => Promise.reject(new Error("this connection has no vault"));
  }

  latest(..._request: readonly unknown[]): Promise<undefined> {
    return Promise.reject(new Error("this connection has no vault"));
  }

  write(..._request: readonly unknown[]): Promise<WrittenVersion> {
    return Promise.reject(new Error("this connection has no vault"));
  }

  remove(..._request: readonly unknown[]): Promise<void> {
    return Promise.reject(new Error("this connection has no vault"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}
