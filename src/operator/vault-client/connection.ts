import type { Redacted } from "../../lib/redacted.ts";

/** A secret as the vault's list shows it: everything but the value. Moments are milliseconds since the epoch. */
export interface SecretRecord {
  readonly name: string;
  /** The creator's e-mail address; `undefined` where the list does not say. */
  readonly owner: string | undefined;
  readonly version: number;
  /** Read with the `_link` operations; `undefined` where the list does not say. */
  readonly shared: boolean | undefined;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly expiresAt: number | undefined;
  readonly expired: boolean;
  readonly deleteAt: number | undefined;
  /** When this version was made, where the list says it. A name made anew starts again at version 1 and differs here only. */
  readonly createdAt?: number | undefined;
}

/** A file as the vault's list shows it. `size` is in bytes; `sha256` is hexadecimal, where the list says it. */
export interface FileVersion {
  readonly version: number;
  readonly size: number;
  readonly sha256: string | undefined;
  /** When this version was made, where the list says it. */
  readonly createdAt?: number | undefined;
}

export interface FileRecord extends FileVersion {
  readonly filename: string;
  /** Every version the list names, ascending; at least the latest. */
  readonly versions: readonly FileVersion[];
}

/** One whole, parsed list of a connection. Immutable; a new list makes a new snapshot. */
export interface Snapshot {
  /** Counts the lists of this connection, from 1. */
  readonly sequence: number;
  /** When the answer arrived, on the wall clock and on the monotonic one. */
  readonly listedAt: number;
  readonly listedAtMonotonic: number;
  /** All records of one name: usually one, more where several creators share the same name. */
  secrets(name: string): readonly SecretRecord[];
  readonly secretCount: number;
  /** `undefined` while the connection does not list files. */
  file(filename: string): FileRecord | undefined;
  readonly fileCount: number | undefined;
}

/** What differs between two snapshots, as names. */
export interface SnapshotChange {
  readonly secrets: ReadonlySet<string>;
  readonly files: ReadonlySet<string>;
}

export type HealthState = "starting" | "healthy" | "failing";

export interface Health {
  readonly state: HealthState;
  /**
   * The last failure while `failing` (see errors.ts, or what the credential source threw), without any text of the server's. One of
   * `list_file` alone leaves the secrets of the snapshot fresh.
   */
  readonly error: Error | undefined;
  /** Since when it has been in this state, wall clock. */
  readonly since: number;
}

export interface SecretValue {
  readonly value: Redacted<Uint8Array>;
  /** The version these bytes belong to: the answer's own where it says, else the one asked for. */
  readonly version: number;
}

export interface FileContent {
  readonly bytes: Redacted<Uint8Array>;
  readonly version: number;
}

/**
 * One open connection to a vault: logs in, keeps its token fresh, lists once an interval, and fetches values on demand.
 * Lists, log-ins and fetches of the same thing are single-flight.
 */
export interface Connection extends AsyncDisposable {
  readonly snapshot: Snapshot | undefined;
  readonly health: Health;
  readonly token: { readonly expiresAt: number; readonly refreshedAt: number; readonly scope: string } | undefined;
  /** Lists files too from now on (and at once), or no longer. */
  listFiles(wanted: boolean): void;
  /** Lists again at once; calls while a list is under way share the next one. */
  pollSoon(): void;
  /** The credentials may be better than the ones refused: ends a waiting time after refused log-ins, and lists at once. */
  credentialsChanged(): void;
  /** New sockets trust this PEM bundle instead of the one before (`undefined`: the public authorities); lists at once. */
  updateCa(ca: string | undefined): void;
  /**
   * The bytes of one version, shared with whoever asks for the same: not to be changed. Where the answer names another version than
   * asked for, they are labelled with the answer's.
   * @throws a VaultError (errors.ts), or the reason of `signal`
   */
  secretValue(record: SecretRecord, version: number, signal: AbortSignal): Promise<SecretValue>;
  /** The bytes of one version of a file, of exactly the size and digest the list says. @throws as `secretValue` */
  fileContent(record: FileRecord, version: number, signal: AbortSignal): Promise<FileContent>;
}
