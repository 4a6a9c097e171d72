import type { ConnectionCallbacks } from "../../../src/operator/controllers/connection/connection-pool.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import type { Connection, FileContent, Health, SecretValue, Snapshot } from "../../../src/operator/vault-client/connection.ts";

const NONE: ReadonlySet<string> = new Set();

/** A connection to a vault that is not there: the test says what it lists and how it is. */
export class InMemoryConnection implements Connection {
  snapshot: Snapshot | undefined;
  health: Health;
  token: Connection["token"];
  closed = false;
  readonly #clock: Clock;
  readonly #callbacks: ConnectionCallbacks;

  constructor(clock: Clock, callbacks: ConnectionCallbacks) {
    this.#clock = clock;
    this.#callbacks = callbacks;
    this.health = { state: "starting", error: undefined, since: clock.now() };
  }

  /** A whole list arrives. Tells of it what a real connection tells: changed names, and health that has changed. */
  list({
    changed = [],
    secretCount = 1,
    fileCount,
  }: { changed?: string[]; secretCount?: number; fileCount?: number } = {}): void {
    const moments = { listedAt: this.#clock.now(), listedAtMonotonic: this.#clock.monotonic() };
    const sequence = (this.snapshot?.sequence ?? 0) + 1;
    this.snapshot = { ...moments, sequence, secrets: () => [], secretCount, file: () => undefined, fileCount };
    if (changed.length > 0) this.#callbacks.onChange({ secrets: new Set(changed), files: NONE });
    this.turn("healthy");
  }

  turn(state: Health["state"], error?: Error): void {
    const isNews = this.health.state !== state || this.health.error?.message !== error?.message;
    this.health = { state, error, since: this.#clock.now() };
    if (isNews) this.#callbacks.onHealth(this.health);
  }

  listFiles(): void {}
  pollSoon(): void {}
  credentialsChanged(): void {}
  updateCa(): void {}

  secretValue(): Promise<SecretValue> {
    return Promise.reject(new Error("there is no vault"));
  }

  fileContent(): Promise<FileContent> {
    return Promise.reject(new Error("there is no vault"));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}
