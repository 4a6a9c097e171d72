import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Connection, Health, SnapshotChange } from "../../vault-client/connection.ts";
import type { ConnectionAccess, ConnectionDirectory } from "../sync/connection-directory.ts";

/** What the client tells while a connection is open. */
export interface ConnectionCallbacks {
  readonly onChange: (change: SnapshotChange) => void;
  readonly onHealth: (health: Health) => void;
}

/** Who wants to know what happens to connections. Keys are `namespace/name`. */
export interface ConnectionListener {
  /** The vault's list differs in these names. */
  onSnapshotChange(key: string, change: SnapshotChange): void;
  /** Something concerns every resource of the connection. */
  onConnectionStateChange(key: string): void;
  /** The connection's own status may have news. */
  onConnectionStatusChange(key: string): void;
}

interface Opened {
  readonly connection: Connection;
  readonly account: string;
  readonly intervalMs: number;
  readonly fingerprint: string;
  readonly openedAt: number;
  readonly openedAtMonotonic: number;
  filesCovered: boolean;
  listed: boolean;
  stale: boolean;
  staleTimer: Timer | undefined;
}

type Entry = Opened | { readonly notReady: string };

/** A connection not heard of for this many intervals makes its resources `Stale`. Source: design, "When the vault misbehaves". */
const STALE_AFTER_INTERVALS = 3;

/** The open connections, and whether each has been heard of lately. */
export class ConnectionPool implements ConnectionDirectory, AsyncDisposable {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #exists: (key: string) => boolean;
  readonly #listener: ConnectionListener;

  /** @param exists whether there is a VaultConnection of this key, opened or not yet */
  constructor(clock: Clock, exists: (key: string) => boolean, listener: ConnectionListener) {
    this.#clock = clock;
    this.#exists = exists;
    this.#listener = listener;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): ConnectionAccess | { readonly notReady: string } | "opening" | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return this.#exists(key) ? "opening" : undefined;
    if ("notReady" in entry) return entry;
    const { connection, account, intervalMs, stale, openedAt } = entry;
    const heard = connection.snapshot?.listedAt ?? openedAt;
    return { connection, account, intervalMs, staleSince: stale ? heard : undefined };
  }

  connection(key: string): Connection | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && "connection" in entry ? entry.connection : undefined;
  }

  /** Opens the connection anew if `fingerprint` differs from that of the open one. */
  async ensure(
    key: string,
    wanted: { readonly fingerprint: string; readonly account: string; readonly intervalMs: number },
    open: (callbacks: ConnectionCallbacks) => Connection,
  ): Promise<void> {
    const current = this.#entries.get(key);
    if (current !== undefined && "connection" in current && current.fingerprint === wanted.fingerprint) return;
    await this.#close(key);
    const connection = open({
      onChange: (change) => this.#changed(key, change),
      onHealth: (health) => this.#turned(key, health),
    });
    const now = { openedAt: this.#clock.now(), openedAtMonotonic: this.#clock.monotonic() };
    const entry: Opened = {
      ...wanted,
      ...now,
      connection,
      filesCovered: false,
      listed: false,
      stale: false,
      staleTimer: undefined,
    };
    this.#entries.set(key, entry);
    this.#watchStaleness(key, entry);
    this.#listener.onConnectionStateChange(key);
  }

  /** The connection exists but can't be opened, for this reason. */
  async refuse(key: string, notReady: string): Promise<void> {
    const current = this.#entries.get(key);
    if (current !== undefined && "notReady" in current && current.notReady === notReady) return;
    await this.#close(key);
    this.#entries.set(key, { notReady });
    this.#listener.onConnectionStateChange(key);
  }

  async close(key: string): Promise<void> {
    if (!this.#entries.has(key)) return;
    await this.#close(key);
    this.#listener.onConnectionStateChange(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#entries.keys()].map((key) => this.#close(key)));
  }

  async #close(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry === undefined || !("connection" in entry)) return;
    entry.staleTimer?.[Symbol.dispose]();
    await entry.connection[Symbol.asyncDispose]();
  }

  #opened(key: string): Opened | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && "connection" in entry ? entry : undefined;
  }

  /** The first list concerns every resource, also those whose names it does not have; later ones only the names that differ. */
  #changed(key: string, change: SnapshotChange): void {
    const entry = this.#opened(key);
    if (entry === undefined) return;
    const filesCovered = entry.connection.snapshot?.fileCount !== undefined;
    const isFirst = !entry.listed || filesCovered !== entry.filesCovered;
    entry.listed = true;
    entry.filesCovered = filesCovered;
    if (isFirst) this.#listener.onConnectionStateChange(key);
    else this.#listener.onSnapshotChange(key, change);
    this.#listener.onConnectionStatusChange(key);
  }

  #turned(key: string, health: Health): void {
    const entry = this.#opened(key);
    if (entry === undefined) return;
    const neverListed = entry.connection.snapshot === undefined;
    if (health.state === "healthy") this.#watchStaleness(key, entry);
    else if (health.state === "failing" && neverListed) this.#listener.onConnectionStateChange(key);
    this.#listener.onConnectionStatusChange(key);
  }

  /** One timer a connection sees to it that staleness begins, and ends, also when no call of the vault ever failed. */
  #watchStaleness(key: string, entry: Opened): void {
    const heard = entry.connection.snapshot?.listedAtMonotonic ?? entry.openedAtMonotonic;
    const left = heard + STALE_AFTER_INTERVALS * entry.intervalMs - this.#clock.monotonic();
    const stale = left <= 0;
    entry.staleTimer?.[Symbol.dispose]();
    entry.staleTimer = this.#clock.timer(stale ? entry.intervalMs : left, () => {
      if (this.#opened(key) !== entry) return;
      this.#watchStaleness(key, entry);
      if (entry.stale !== stale) this.#listener.onConnectionStatusChange(key);
    });
    if (stale === entry.stale) return;
    entry.stale = stale;
    this.#listener.onConnectionStateChange(key);
  }
}
