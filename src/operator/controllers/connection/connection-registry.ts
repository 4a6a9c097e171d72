import type { Clock, Timer } from "../../../lib/clock.ts";
import { defined } from "../../lib/defined.ts";
import type {
  Connection,
  EntryKind,
  Health,
  SnapshotChange,
} from "../../vault-client/connection.ts";
import type { Staleness } from "../../sync/staleness.ts";
import type {
  ConnectionCallbacks,
  ConnectionReporter,
  ConnectionUsers,
  JoinedNames,
} from "./connection-users.ts";
import {
  hasRecovered,
  lastHeard,
  type Recovery,
  staleAt,
  stalenessOf,
} from "../../connection/list-age.ts";
import type { BlastLimits } from "./blast-limit.ts";
import type { ConnectionState, OpenConnection, WantedConnection } from "./connection-state.ts";
import { InvalidConnection, type InvalidConnectionOptions } from "./invalid-connection.ts";
import { LeavingConnections } from "./leaving-connections.ts";
import { Removals } from "./removals.ts";

interface Opened extends Omit<WantedConnection, "stale" | "wasHeld">, Recovery {
  readonly connection: Connection;
  readonly removals: Removals;
  readonly openedAt: number;
  readonly openedAtMonotonic: number;
  filesCovered: boolean;
  listed: boolean;
  /** Its resources saw that removals are held. */
  isHolding: boolean;
  health: Health["state"];
  stale: Staleness | undefined;
  staleTimer: Timer | undefined;
}

type Entry = Opened | InvalidConnection;

/** Ends everything of an open connection but its client. */
function release({ staleTimer, removals }: Opened): void {
  staleTimer?.[Symbol.dispose]();
  removals[Symbol.dispose]();
}

function openConnection(entry: Opened): OpenConnection {
  const { connection, fingerprint, id, vault, account, facts, trustedOwners, receive } = entry;
  const { intervalMs, removals, stale } = entry;
  const settings = { fingerprint, id, vault, account, facts, trustedOwners, receive, intervalMs };
  return { state: "open", connection, ...settings, removals, stale };
}

export interface ConnectionRegistryOptions {
  readonly clock: Clock;
  readonly blastLimits: BlastLimits;
  /** Reports whether there is a connection of this key that is not being deleted. */
  readonly exists: (key: string) => boolean;
  /**
   * Return the controllers. They are functions because the controllers use the registry in turn.
   */
  readonly users: () => ConnectionUsers;
  readonly reporter: () => ConnectionReporter;
}

/**
 * Owns the open connections, knows the state of every other one, and tracks whether each vault
 * still responds; see docs/design/engine.md#connections.
 */
export class ConnectionRegistry implements AsyncDisposable {
  readonly #entries = new Map<string, Entry>();
  readonly #leaving: LeavingConnections;
  readonly #clock: Clock;
  readonly #blastLimits: BlastLimits;
  readonly #exists: (key: string) => boolean;
  readonly #users: () => ConnectionUsers;
  readonly #reporter: () => ConnectionReporter;

  constructor({ clock, blastLimits, exists, users, reporter }: ConnectionRegistryOptions) {
    this.#clock = clock;
    this.#leaving = new LeavingConnections(clock);
    this.#blastLimits = blastLimits;
    this.#exists = exists;
    this.#users = users;
    this.#reporter = reporter;
  }

  /** Returns the keys of the connections that are open or invalid. */
  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  get(key: string): ConnectionState {
    if (!this.#exists(key))
      return { state: "absent", ...defined({ leaving: this.#leaving.get(key) }) };
    const entry = this.#entries.get(key);
    if (entry === undefined) return { state: "opening" };
    if ("message" in entry) return { state: "invalid", message: entry.message, stale: entry.stale };
    return openConnection(entry);
  }

  /**
   * Reports whether nothing is known about the connection yet: it is opened or listed next, and its
   * first list or failure requeues its resources.
   */
  isStarting(key: string): boolean {
    if (!this.#exists(key)) return false;
    const entry = this.#entries.get(key);
    if (entry === undefined) return true;
    if ("message" in entry) return false;
    return entry.health === "starting" && !entry.listed && entry.stale === undefined;
  }

  /** Returns the client of an open connection. */
  client(key: string): Connection | undefined {
    return this.#opened(key)?.connection;
  }

  /**
   * Returns the time in milliseconds since the last list of an open connection, or since it was
   * opened if there was none.
   */
  listAgeMs(key: string): number | undefined {
    const entry = this.#opened(key);
    return entry && this.#clock.monotonic() - lastHeard(entry);
  }

  /** Returns the time in milliseconds since a connection was opened; 0 while it is not. */
  openMs(key: string): number {
    const entry = this.#opened(key);
    return entry === undefined ? 0 : this.#clock.monotonic() - entry.openedAtMonotonic;
  }

  isOpen(key: string, fingerprint: string): boolean {
    return this.#opened(key)?.fingerprint === fingerprint;
  }

  /**
   * Opens the connection, or reopens it if its `fingerprint` has changed. Returns whether it did.
   */
  async open(
    key: string,
    wanted: WantedConnection,
    connect: (callbacks: ConnectionCallbacks) => Connection,
  ): Promise<boolean> {
    if (this.isOpen(key, wanted.fingerprint)) return false;
    await this.#leaving.end(key);
    await this.#close(key);
    const connection = connect({
      onChange: (change) => this.#onSnapshotChange(key, change),
      onListed: (kind) => this.#onListed(key, kind),
      onHealth: (health) => this.#onHealth(key, health),
      onTokenChange: () => this.#reporter().statusChanged(key),
      onCircuitChange: (open) => this.#reporter().circuitChanged(key, open),
    });
    const entry: Opened = {
      ...wanted,
      connection,
      removals: this.#removalsOf(key, wanted, connection),
      openedAt: this.#clock.now(),
      openedAtMonotonic: this.#clock.monotonic(),
      filesCovered: false,
      listed: false,
      isHolding: false,
      health: "starting",
      unlisted: false,
      recoveringSince: undefined,
      staleTimer: undefined,
    };
    this.#entries.set(key, entry);
    this.#watchStaleness(key, entry);
    this.#users().onConnectionStateChange(key);
    return true;
  }

  /**
   * Records, before any resource is reconciled, that resources refer to other names or follow
   * another policy.
   */
  referencesChanged(key: string, joined?: JoinedNames): void {
    this.#opened(key)?.removals.referencesChanged(joined);
  }

  /**
   * Forgets disappeared names that no resource refers to any more, and passes on whether removals
   * are still held.
   */
  pruneRemovals(key: string): void {
    const entry = this.#opened(key);
    if (entry === undefined) return;
    if (entry.isHolding) entry.removals.prune();
    if (this.#changesHold(entry)) this.#users().onConnectionStateChange(key);
  }

  /** Makes the removals that are held: a user confirmed them. */
  confirmRemovals(key: string): void {
    this.#opened(key)?.removals.confirm();
    this.#users().onConnectionStateChange(key);
    this.#reporter().statusChanged(key);
  }

  /**
   * Closes a connection that cannot be opened, and stores why. `published`: the staleness that its
   * status shows.
   */
  async markInvalid(
    key: string,
    { reason, message }: Pick<InvalidConnectionOptions, "reason" | "message">,
    published?: Staleness,
  ): Promise<void> {
    const current = this.#entries.get(key);
    if (current !== undefined && "message" in current && current.message === message) return;
    await this.#close(key);
    const entry = new InvalidConnection({
      clock: this.#clock,
      reason,
      message,
      before: current,
      published,
      onStale: () => {
        this.#users().onConnectionStateChange(key);
        this.#reporter().statusChanged(key);
      },
    });
    this.#entries.set(key, entry);
    this.#users().onConnectionStateChange(key);
  }

  /**
   * Closes a connection whose object is absent, and keeps what removals in the vault need. Always
   * notifies its resources, even if there is nothing to close: they may have seen an earlier state.
   */
  async close(key: string): Promise<void> {
    const users = this.#users();
    const entry = this.#opened(key);
    if (!users.mayRemoveEntries(key)) await this.#leaving.end(key);
    else if (entry !== undefined) {
      this.#entries.delete(key);
      release(entry);
      this.#leaving.add(key, openConnection(entry));
    }
    await this.#close(key);
    users.onConnectionStateChange(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = [...this.#entries.keys()].map((key) => this.#close(key));
    await Promise.all([...closed, this.#leaving[Symbol.asyncDispose]()]);
  }

  async #close(key: string): Promise<void> {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry === undefined) return;
    if ("message" in entry) return entry[Symbol.dispose]();
    release(entry);
    await entry.connection[Symbol.asyncDispose]();
  }

  #removalsOf(
    key: string,
    { id, facts: { url }, account, intervalMs, wasHeld }: WantedConnection,
    connection: Connection,
  ): Removals {
    return new Removals({
      id,
      url,
      account,
      intervalMs,
      wasHeld,
      facts: this.#users().removalFactsOf(key, account),
      limits: this.#blastLimits,
      snapshot: () => connection.snapshot,
      isStale: () => this.#opened(key)?.stale !== undefined,
      listSoon: () => connection.pollSoon(),
      onHeld: () => {
        const entry = this.#opened(key);
        if (entry !== undefined && this.#changesHold(entry))
          this.#users().onConnectionStateChange(key);
        this.#reporter().statusChanged(key);
      },
    });
  }

  /** Reports whether a hold started or ended since the resources saw it. */
  #changesHold(entry: Opened): boolean {
    const before = entry.isHolding;
    entry.isHolding = entry.removals.held > 0;
    return entry.isHolding !== before;
  }

  #opened(key: string): Opened | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && "connection" in entry ? entry : undefined;
  }

  /**
   * The first list concerns all resources, including those whose names it does not contain, and so
   * does a hold of removals; later lists concern only the changed names.
   */
  #onSnapshotChange(key: string, change: SnapshotChange): void {
    const entry = this.#opened(key);
    if (entry === undefined) return;
    const { snapshot } = entry.connection;
    if (snapshot !== undefined) entry.removals.observe(snapshot, change);
    const filesCovered = snapshot?.fileCount !== undefined;
    const isFirst = !entry.listed || filesCovered !== entry.filesCovered;
    entry.listed = true;
    entry.filesCovered = filesCovered;
    if (this.#changesHold(entry) || isFirst) this.#users().onConnectionStateChange(key, snapshot);
    else
      this.#users().onSnapshotChange(
        key,
        change,
        snapshot?.listedAtMonotonic ?? this.#clock.monotonic(),
      );
    this.#reporter().statusChanged(key);
  }

  /** Requeues the resources that waited for the proof of a removal. */
  #onListed(key: string, kind: EntryKind): void {
    const names = this.#opened(key)?.removals.proven(kind);
    if (names === undefined || names.size === 0) return;
    this.#users().onProven(key, kind, names, this.#clock.monotonic());
  }

  #onHealth(key: string, health: Health): void {
    const entry = this.#opened(key);
    if (entry === undefined) return;
    const before = entry.health;
    entry.health = health.state;
    this.#watchStaleness(key, entry);
    const neverListed = entry.connection.snapshot === undefined;
    // A resource may wait for hours after a failure of the connection, for example until the next
    // login is allowed.
    const recovered = before === "failing" && health.state === "healthy";
    if (recovered || (health.state === "failing" && neverListed))
      this.#users().onConnectionStateChange(key);
    this.#reporter().statusChanged(key);
  }

  /**
   * Checks whether the connection is stale, and again when that may change, even if no request to
   * the vault fails.
   */
  #watchStaleness(key: string, entry: Opened): void {
    const left = staleAt(entry) - this.#clock.monotonic();
    const wasStale = entry.stale !== undefined;
    const stale = left <= 0 || (wasStale && !hasRecovered(entry));
    entry.staleTimer?.[Symbol.dispose]();
    entry.staleTimer = this.#clock.timer(stale ? entry.intervalMs : left, () => {
      if (this.#opened(key) !== entry) return;
      this.#watchStaleness(key, entry);
      if ((entry.stale !== undefined) !== stale) this.#reporter().statusChanged(key);
    });
    if (stale === wasStale) return;
    entry.stale = stale ? stalenessOf(entry) : undefined;
    entry.unlisted = stale && entry.connection.snapshot === undefined;
    entry.recoveringSince = undefined;
    this.#users().onConnectionStateChange(key);
  }
}
