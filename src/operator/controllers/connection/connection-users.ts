import type { EntryKind, Snapshot, Health, SnapshotChange } from "../../vault-client/connection.ts";

/** Some of the entries of one name: by their owner, and by the metadata that a rule requests. */
export interface Selection {
  readonly owner?: string | undefined;
  /** Id of a {@link MetadataRule}. */
  readonly rule?: string | undefined;
}

/** Names that a resource refers to since its last change. */
export interface JoinedNames {
  readonly kind: EntryKind;
  readonly names: readonly string[];
}

/** The metadata that rules of resources request, of the entries whose names they match. */
export interface MetadataRule {
  /** Equal for rules that request the same. */
  readonly id: string;
  /** Reports whether the list has an entry of the name, and of this owner, with this metadata. */
  finds(snapshot: Snapshot, owner?: string): boolean;
}

/**
 * Knowledge about the names that resources refer to, apart from the lists. A selection limits it to
 * the resources with a rule of this id, and that have or request the entry of this owner.
 */
export interface RemovalFacts {
  isReferenced(kind: EntryKind, name: string, selection?: Selection): boolean;
  /** Reports whether resources refer to any entry of this kind. */
  hasReferences(kind: EntryKind): boolean;
  /** Returns the rules whose regular expression matches the name. */
  rulesOf(kind: EntryKind, name: string): Iterable<MetadataRule>;
  /**
   * Reports whether a resource shows that it has the bytes of this entry: the entry was listed
   * before this connection was opened.
   */
  wasServed(kind: EntryKind, name: string, selection?: Selection): boolean;
  /**
   * Reports whether a resource shows bytes of this entry that were not listed any more: an earlier
   * process has seen that the entry disappeared.
   */
  wasMissing(kind: EntryKind, name: string, selection?: Selection): boolean;
  /**
   * Reports whether a status shows that a user had to confirm the removal of bytes of this entry.
   */
  isUnconfirmed(kind: EntryKind, name: string, selection?: Selection): boolean;
  /** Reports whether a target has bytes of this entry, whenever it was listed. */
  hasBytes(kind: EntryKind, name: string, selection?: Selection): boolean;
  /** Reports the same, but not because of bytes of another name under a key of this one. */
  hasOwnBytes(kind: EntryKind, name: string, selection?: Selection): boolean;
  /**
   * Returns the owners of the secrets of this name whose bytes statuses show; "" is the account of
   * the connection.
   */
  ownersOf(name: string): Iterable<string>;
  /**
   * Returns the deadline of an entry that a client with the same `connectionId` listed, in
   * milliseconds since the epoch.
   */
  deadlineOf(kind: EntryKind, name: string, id: string): number | undefined;
  /**
   * Reports whether a resource removes a key if this entry is gone: `isDue`, by the vault at its
   * deadline.
   */
  removes(kind: EntryKind, name: string, isDue: boolean, selection?: Selection): boolean;
  /** Reports the same of a resource whose target is known to have the bytes of the entry. */
  removesBytes(kind: EntryKind, name: string, isDue: boolean, selection?: Selection): boolean;
  /**
   * Returns the names that rules of this id found before this connection was opened, as the targets
   * show.
   */
  claimedBy(kind: EntryKind, rule: string): ReadonlySet<string>;
  /** Returns the targets that an entry feeds. */
  targetsOf(kind: EntryKind, name: string, selection?: Selection): Iterable<string>;
}

/** Callbacks of the client while a connection is open. */
export interface ConnectionCallbacks {
  readonly onChange: (change: SnapshotChange) => void;
  readonly onListed: (kind: EntryKind) => void;
  readonly onHealth: (health: Health) => void;
  readonly onTokenChange: () => void;
  readonly onCircuitChange: (open: boolean) => void;
}

/** The resources that use connections. Keys are connection keys; see `connectionKey`. */
export interface ConnectionUsers {
  /** The list of the vault that arrived at `listedAt` (monotonic) differs in these names. */
  onSnapshotChange(key: string, change: SnapshotChange, listedAt: number): void;
  /** The list that arrived at `listedAt` (monotonic) proves that these names are deleted. */
  onProven(key: string, kind: EntryKind, names: ReadonlySet<string>, listedAt: number): void;
  /**
   * The connection changed in a way that concerns all its resources. `list` is its first list, or
   * one that covers another kind.
   */
  onConnectionStateChange(key: string, list?: Snapshot): void;
  /** Reports whether the deletion of a resource may have to delete entries in the vault. */
  mayRemoveEntries(key: string): boolean;
  /**
   * Returns what is known about the names that the resources refer to, for a connection with this
   * account.
   */
  removalFactsOf(key: string, account: string): RemovalFacts;
}

/** Reports changes of the connections themselves. */
export interface ConnectionReporter {
  /** The status of the connection may have changed. */
  statusChanged(key: string): void;
  /** The circuit breaker of the connection opened or closed. */
  circuitChanged(key: string, open: boolean): void;
}
