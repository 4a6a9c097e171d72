import type { Clock, Timer } from "../../../lib/clock.ts";
import type { Connection, Health, SnapshotChange } from "../../vault-client/connection.ts";
import type { ConnectionAccess, ConnectionDirectory } from "../sync/connection-directory.ts";

/** Callbacks of the client while a connection is open. */
export interface ConnectionCallbacks {
  readonly onChange: (change: SnapshotChange) => void;
  readonly onHealth: (health: Health) => void;
}

/** Listener for changes of connections. Keys are `namespace/name`. */
export interface ConnectionListener {
  /** The list of the vault changed in these names. */
  onSnapshotChange(key: string, change: SnapshotChange): void;
  /** The connection changed in a way that concerns all its resources. */
  onConnectionStateChange(key: string): void;
  /** The status of the connection itself may have changed. */
  onConnectionStatusChange(key: string): void;
}

interface Opened {
  readonly connection: Connection;
  readonly id: string;
  readonly vault: string;
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

/**
 * Number of refresh intervals without a response after which the resources of a connection are `Stale`; see
 * docs/design/engine.md#vault-failures.
 */
const STALE_AFTER_INTERVALS = 3;

/** Owns the open connections and tracks whether each vault still responds. */
export class ConnectionPool implements ConnectionDirectory, AsyncDisposable {
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #exists: (key: string) => boolean;
  readonly #listener: ConnectionListener;

  /** @param exists reports whether there is a VaultConnection of this key, opened or not yet */
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
    const { connection, id, vault, account, intervalMs, stale, openedAt } = entry;
    const lastResponseAt = connection.snapshot?.listedAt ?? openedAt;
    return { connection, id, vault, account, intervalMs, staleSince: stale ? lastResponseAt : undefined };
  }

  /** Returns the open connection; `undefined` if there is none or it cannot be opened. */
  connection(key: string): Connection | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && "connection" in entry ? entry.connection : undefined;
  }

  /** Opens the connection, or reopens it if `fingerprint` differs from that of the open one. */
  async ensure(
    key: string,
    wanted: Pick<Opened, "fingerprint" | "id" | "vault" | "account" | "intervalMs">,
    open: (callbacks: ConnectionCallbacks) => Connection,
  ): Promise<void> {
    const current = this.#entries.get(key);
    if (current !== undefined && "connection" in current && current.fingerprint === wanted.fingerprint) return;
    await this.#close(key);
    const connection = open({
      onChange: (change) => this.#onSnapshotChange(key, change),
      onHealth: (health) => this.#onHealth(key, health),
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

  /** Closes a connection that cannot be opened, and stores the reason. */
  async setNotReady(key: string, notReady: string): Promise<void> {
    const current = this.#entries.get(key);
    if (current !== undefined && "notReady" in current && current.notReady === notReady) return;
    await this.#close(key);
    this.#entries.set(key, { notReady });
    this.#listener.onConnectionStateChange(key);
  }

  /** Closes the connection of a deleted VaultConnection, if there is one. */
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

  /**
   * The first list concerns all resources, including those whose names it does not contain; later ones only the changed names.
   */
  #onSnapshotChange(key: string, change: SnapshotChange): void {
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

  #onHealth(key: string, health: Health): void {
    const entry = this.#opened(key);
    if (entry === undefined) return;
    const neverListed = entry.connection.snapshot === undefined;
    if (health.state === "healthy") this.#watchStaleness(key, entry);
    else if (health.state === "failing" && neverListed) this.#listener.onConnectionStateChange(key);
    this.#listener.onConnectionStatusChange(key);
  }

  /** Restarts the timer that marks the connection as stale, or as recovered, even if no request to the vault failed. */
  #watchStaleness(key: string, entry: Opened): void {
    const lastResponseAt = entry.connection.snapshot?.listedAtMonotonic ?? entry.openedAtMonotonic;
    const left = lastResponseAt + STALE_AFTER_INTERVALS * entry.intervalMs - this.#clock.monotonic();
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
