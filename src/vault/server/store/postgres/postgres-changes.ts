import { randomBytes } from "node:crypto";
import { Client, type ClientConfig, type Pool } from "pg";
import { Backoff } from "../../../../lib/backoff.ts";
import type { Clock } from "../../../../lib/clock.ts";
import type { Random } from "../../../../lib/random.ts";
import { ChangeFeed, subjectKey, type Changes } from "../change-feed.ts";

const CHANNEL = "vaultsync_changes";
/** Keys in one notification: PostgreSQL limits its payload to 8,000 bytes. */
const KEYS_PER_NOTIFICATION = 400;
/**
 * Maximum time between two attempts to connect: changes arrive within a second of the database
 * being available again.
 */
const MAX_BACKOFF_MS = 800;
/**
 * Interval of the notifications to oneself that show that the connection still delivers, in
 * milliseconds.
 */
const BEAT_MS = 5_000;

/**
 * Announces the changes that this process commits, and receives the changes of the other servers on
 * the database (LISTEN and NOTIFY). Notifications are sent after the commit, in batches: within the
 * transaction they would serialize all commits. A server that stops in between leaves a change
 * unannounced: a waiting list finds it at its end. A payload is the id of the sender and the keys
 * of the subjects.
 */
export class PostgresChanges implements Changes, AsyncDisposable {
  readonly #config: ClientConfig;
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #feed = new ChangeFeed();
  readonly #id = randomBytes(6).toString("base64url");
  readonly #stopped = new AbortController();
  readonly #unannounced = new Set<string>();
  #announcing: Promise<void> | undefined;
  #listening: Promise<void> | undefined;

  constructor(
    config: ClientConfig,
    pool: Pool,
    { clock, random }: { readonly clock: Clock; readonly random: Random },
  ) {
    this.#config = config;
    this.#pool = pool;
    this.#clock = clock;
    this.#backoff = new Backoff({ baseMs: 100, maxMs: MAX_BACKOFF_MS }, random);
    this.#feed.available = false;
  }

  get available(): boolean {
    return this.#feed.available;
  }

  watch(subjects: readonly string[], wake: () => void): Disposable {
    return this.#feed.watch(subjects, wake);
  }

  /** Announces committed changes to this process immediately, to other processes asynchronously. */
  announce(subjects: Iterable<string>): void {
    const keys = [...subjects].map(subjectKey);
    if (keys.length === 0) return;
    this.#feed.publish(keys);
    for (const key of keys) this.#unannounced.add(key);
    this.#announcing ??= this.#notifyAll().finally(() => (this.#announcing = undefined));
  }

  async #notifyAll(): Promise<void> {
    while (this.#unannounced.size > 0) {
      const keys = [...this.#unannounced].slice(0, KEYS_PER_NOTIFICATION);
      for (const key of keys) this.#unannounced.delete(key);
      try {
        await this.#pool.query("SELECT pg_notify($1, $2)", [
          CHANNEL,
          [this.#id, ...keys].join(" "),
        ]);
      } catch {
        // The database is unreachable, for the other servers too: when they are connected again,
        // they wake everything that waits.
        this.#unannounced.clear();
      }
    }
  }

  /**
   * Resolves when changes arrive, or when the first attempt has failed; connects again whenever the
   * connection is lost.
   */
  async listen(): Promise<void> {
    if (this.#listening) return;
    const started = Promise.withResolvers<void>();
    this.#listening = this.#run(started.resolve);
    await started.promise;
  }

  async #run(attempted: () => void): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#receive(attempted).catch(() => undefined);
      this.#feed.available = false;
      attempted();
      await this.#clock.sleep(this.#backoff.next(), signal).catch(() => undefined);
    }
  }

  /** Receives changes until the connection is lost. */
  async #receive(attempted: () => void): Promise<void> {
    const client = new Client({
      ...this.#config,
      fallback_application_name: "vaultsync_changes",
      query_timeout: BEAT_MS,
    });
    const lost = new AbortController();
    const signal = AbortSignal.any([lost.signal, this.#stopped.signal]);
    client.on("error", () => lost.abort()).on("end", () => lost.abort());
    let beats = 0;
    client.on("notification", ({ payload = "" }) => {
      const [sender, ...keys] = payload.split(" ");
      if (sender !== this.#id) this.#feed.publish(keys);
      else if (keys.length === 0) beats += 1;
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      for (let sent = 1; !signal.aborted; sent += 1) {
        await client.query("SELECT pg_notify($1, $2)", [CHANNEL, this.#id]);
        // PostgreSQL delivers a session's own notification before the response to its next
        // statement at the latest.
        await client.query("SELECT 1");
        if (beats < sent) return;
        if (!this.#feed.available) this.#connected();
        attempted();
        await this.#clock.sleep(BEAT_MS, signal);
      }
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  #connected(): void {
    this.#backoff.reset();
    this.#feed.available = true;
    this.#feed.publishAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    await this.#listening;
    await this.#announcing;
  }
}
