import type { Redacted } from "../../lib/redacted.ts";

/**
 * A secret as listed by the vault: everything but the value. Timestamps are milliseconds since the
 * epoch.
 */
export interface SecretRecord {
  readonly name: string;
  /** Email address of the creator; `undefined` if the list omits it. */
  readonly owner: string | undefined;
  readonly version: number;
  /** The secret is read with the `_link` operations; `undefined` if the list omits it. */
  readonly shared: boolean | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly expiresAt: number | undefined;
  readonly deleteAt: number | undefined;
  /**
   * Creation time of this version, if listed. Distinguishes a recreated name, whose versions start
   * again at 1.
   */
  readonly createdAt?: number | undefined;
}

/** One version of a file as listed by the vault. */
export interface FileVersion {
  readonly version: number;
  /** Size in bytes. */
  readonly size: number;
  /** Digest in lower-case hexadecimal, if listed. */
  readonly sha256: string | undefined;
  /** Creation time of this version, if listed. */
  readonly createdAt?: number | undefined;
}

/** A file as listed by the vault; its own fields describe the latest version. */
export interface FileRecord extends FileVersion {
  readonly filename: string;
  /** All listed versions in ascending order; at least the latest. */
  readonly versions: readonly FileVersion[];
}

export type EntryKind = "secret" | "file";

/**
 * The names, and the patterns of names (`patternReference`), that resources refer to. The sets must
 * not change afterwards.
 */
export interface References {
  readonly secrets: ReadonlySet<string>;
  /** Files are listed only while there is one. */
  readonly files: ReadonlySet<string>;
}

/**
 * The lists of one kind by a connection, changed or not: their number, and the arrival of the last
 * two in monotonic milliseconds.
 */
export interface ListProgress {
  readonly lists: number;
  readonly at: number;
  /** -∞ after the first list. */
  readonly previousAt: number;
}

/**
 * The referenced names of one complete, parsed list of a connection, and how many entries it has.
 * Immutable; each list creates a new snapshot.
 */
export interface Snapshot {
  /** Arrival time of the response on the wall clock. */
  readonly listedAt: number;
  /** Arrival time of the response on the monotonic clock. */
  readonly listedAtMonotonic: number;
  /**
   * Reports whether the name or pattern was referenced when the list was made. Nothing is known
   * about any other name.
   */
  covers(kind: EntryKind, reference: string): boolean;
  /** Returns the listed names that match a pattern that the snapshot covers. */
  matching(kind: EntryKind, pattern: string): ReadonlySet<string>;
  /** Returns another listed name that is nearly the same as one that is not listed. */
  near(kind: EntryKind, name: string): string | undefined;
  /**
   * Returns all records of one name: usually one, several if several creators share a secret of
   * that name.
   */
  secrets(name: string): readonly SecretRecord[];
  readonly secretCount: number;
  /**
   * Returns the arrival time of the first list without this secret, after the last one with it, or
   * of the first list if the connection never listed it. `owner` selects one of several secrets of
   * a name.
   */
  missingSince(name: string, owner: string | undefined): number;
  /**
   * Returns a secret that is no longer listed as the last list with it had it; `undefined` if this
   * connection never listed it. `owner` selects one of several secrets of a name.
   */
  lastListed(name: string, owner: string | undefined): SecretRecord | undefined;
  /**
   * Returns how often this kind was listed; `undefined` while the connection does not list files.
   */
  progress(kind: EntryKind): ListProgress | undefined;
  /** Returns `undefined` for an unknown file. */
  file(filename: string): FileRecord | undefined;
  /** `undefined` while the connection does not list files. */
  readonly fileCount: number | undefined;
}

/**
 * The referenced names that differ between two snapshots, or that the earlier one does not cover,
 * and the patterns that match one of them or that the earlier one does not cover.
 */
export interface SnapshotChange {
  readonly secrets: ReadonlySet<string>;
  readonly files: ReadonlySet<string>;
}

type HealthState = "starting" | "healthy" | "failing";

/** Outcome of the last attempt to list the vault. */
export interface Health {
  readonly state: HealthState;
  /**
   * The last failure while `failing`: a VaultError, or the error of the credential source. Contains
   * no text from the server. A failure of `list_file` alone does not affect the secrets of the
   * snapshot.
   */
  readonly error: Error | undefined;
}

/**
 * The end of a pause after rejected logins, in milliseconds since the epoch, and the version of the
 * rejected credentials.
 */
export interface LoginPause {
  readonly until: number;
  readonly credentials: string;
}

/** The bytes of one version of a secret or file. */
export interface EntryBytes {
  readonly bytes: Redacted<Uint8Array>;
  /** The version named by the response, else the requested one. */
  readonly version: number;
}

/**
 * Returns the bytes of one version. Callers share them and must not modify them. @throws a
 * VaultError, or the reason of `signal`
 */
export type EntryReader = (version: number, signal: AbortSignal) => Promise<EntryBytes>;

/** The resource that a value is read for. Reported to the vault with `reportUse`. */
export interface Consumer {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

/**
 * Limits the writes of one leader: none happens after another leader may have started. `WriteFence`
 * of `operator/kube` is one.
 */
export interface WriteGuard {
  /** Reports whether a write may be sent now. */
  mayWrite(): boolean;
  /** Returns the time within which a write that is sent now has to end, in milliseconds. */
  writeTimeoutMs(): number;
}

/** The next version of a secret or file; a missing entry is created. */
export type EntryWrite = { readonly name: string; readonly guard: WriteGuard | undefined } & (
  | {
      readonly kind: "secret";
      readonly value: Redacted<string>;
      /** The creator, for the `_link` operation to name. */
      readonly owner: string | undefined;
      /** Another account created the secret, so it is never replaced by one of this account. */
      readonly received: boolean;
      /**
       * The secret is written with the `_link` operation: metadata and removal time do not change.
       */
      readonly shared: boolean;
      readonly metadata: Readonly<Record<string, unknown>> | undefined;
      /** Minutes until the vault removes the secret. */
      readonly deleteMinutes: number | undefined;
    }
  | { readonly kind: "file"; readonly bytes: Redacted<Uint8Array> }
);

/** An entry whose latest version is read; see {@link EntryWrite}. */
export interface EntryAddress {
  readonly kind: EntryKind;
  readonly name: string;
  readonly owner: string | undefined;
  readonly received: boolean;
  readonly shared: boolean;
  readonly consumer: Consumer;
}

/** The latest version of an entry, as the vault has it now. */
export interface LatestVersion {
  readonly bytes: Redacted<Uint8Array>;
  /** `undefined` if the response does not name it. */
  readonly version: number | undefined;
}

/**
 * A version that was written. Timestamps are milliseconds since the epoch; `undefined` if the
 * response omits them.
 */
export interface WrittenVersion {
  readonly version: number;
  readonly createdAt: number | undefined;
  readonly deleteAt: number | undefined;
  /** Metadata and removal time of the request were stored. */
  readonly withMetadata: boolean;
}

/**
 * A connection to a vault: logs in, refreshes its token, lists once per interval, and fetches
 * values on demand. Concurrent lists, logins and fetches of the same thing share one request.
 */
export interface Connection extends AsyncDisposable {
  readonly snapshot: Snapshot | undefined;
  readonly health: Health;
  /** `scope` is as requested at the login; `undefined` for a stored token. */
  readonly token:
    | {
        readonly expiresAt: number;
        readonly refreshedAt: number;
        readonly scope: { readonly text: string } | undefined;
      }
    | undefined;
  /** Pause after rejected logins. */
  readonly loginPause: LoginPause | undefined;
  /**
   * Replaces the referenced names. If the snapshot does not cover one of them, lists again within a
   * second.
   */
  setReferences(references: References): void;
  /**
   * Lists again as soon as allowed: a second after the last list, and not before the delay after a
   * failure ends.
   */
  pollSoon(): void;
  /**
   * Resolves after a list of this kind that is requested after this call. @throws the error of the
   * list, or the reason of `signal`
   */
  listAgain(kind: EntryKind, signal: AbortSignal): Promise<void>;
  /** Reports new credentials: ends the backoff after rejected logins and lists immediately. */
  credentialsChanged(): void;
  /**
   * Makes new sockets trust this PEM bundle (`undefined`: the public authorities) and lists
   * immediately.
   */
  updateCa(ca: string | undefined): void;
  /**
   * Returns the way to read the versions of a listed entry for one consumer. The bytes of a file
   * have exactly the listed size and digest.
   */
  reader(record: SecretRecord | FileRecord, consumer: Consumer): EntryReader;
  /**
   * Reads the latest version, neither from a list nor from the cache. Returns `undefined` if there
   * is no such entry, or if its bytes cannot be read: it has expired, or is longer than a value.
   * @throws as `write`
   */
  latest(entry: EntryAddress, signal: AbortSignal): Promise<LatestVersion | undefined>;
  /**
   * Creates the next version of an entry. @throws a VaultError, or the reason of `signal`; see
   * `mayHaveHappened`
   */
  write(entry: EntryWrite, signal: AbortSignal): Promise<WrittenVersion>;
  /** Deletes an entry of the account with all its versions. @throws as `write` */
  remove(
    kind: EntryKind,
    name: string,
    guard: WriteGuard | undefined,
    signal: AbortSignal,
  ): Promise<void>;
}
