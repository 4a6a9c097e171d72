import { Redacted } from "../../../src/lib/redacted.ts";
import type { ConnectionCallbacks } from "../../../src/operator/controllers/connection/connection-users.ts";
import type {
  Connection,
  EntryReader,
  FileRecord,
  References,
  SecretRecord,
} from "../../../src/operator/vault-client/connection.ts";
import { ListSnapshot } from "../../../src/operator/vault-client/mirror/list-snapshot.ts";
import { trackRecords } from "../../../src/operator/vault-client/mirror/read-list.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import { InMemoryConnection } from "./in-memory-connection.ts";
import { secretRecord } from "./secret-record.ts";

/** A connection to a {@link ListedVault}. */
class ListedConnection extends InMemoryConnection {
  readonly #vault: ListedVault;
  #last: ListSnapshot | undefined;
  readonly #takeIn: ConnectionCallbacks["onChange"];
  #tracked: References = { secrets: new Set(), files: new Set() };
  readonly #clock: VirtualClock;

  constructor(vault: ListedVault, clock: VirtualClock, callbacks: ConnectionCallbacks) {
    super(clock, callbacks);
    this.#vault = vault;
    this.#clock = clock;
    this.#takeIn = callbacks.onChange;
    clock.timer(1, () => this.relist());
    this.#poll();
  }

  /** Lists once per interval: the connection does not become stale. */
  #poll(): void {
    this.#clock.timer(60_000, () => {
      if (this.closed) return;
      if (this.health.state === "healthy") this.#refresh();
      this.#poll();
    });
  }

  #refresh(): void {
    const timestamps = { listedAt: this.#clock.now(), listedAtMonotonic: this.#clock.monotonic() };
    const { lists = 0, at: previousAt = -Infinity } = this.#last?.progress("secret") ?? {};
    const progress = { lists: lists + 1, at: timestamps.listedAtMonotonic, previousAt };
    const origin = { ...timestamps, progress: { secret: progress, file: progress } };
    const { secrets, files } = this.#vault;
    const tracked = this.#tracked;
    const list = trackRecords(secrets, tracked.secrets);
    const fileList = trackRecords(files, tracked.files);
    this.#last = new ListSnapshot(
      origin,
      list,
      tracked.files.size === 0 ? undefined : fileList,
      this.#last,
    );
    this.snapshot = this.#last;
  }

  relist(): void {
    if (this.closed) return;
    const before = this.#last;
    this.#refresh();
    const found = [before, this.#last].flatMap((one) => [
      ...(one?.secretList.records.keys() ?? []),
    ]);
    const { secrets, files } = this.#tracked;
    this.#takeIn({
      secrets: new Set([...secrets, ...found]),
      files: new Set([...files, ...(this.#last?.fileList?.records.keys() ?? [])]),
    });
    this.setHealth("healthy");
  }

  override setReferences(references: References): void {
    const { secrets, files } = this.#tracked;
    const isNew =
      [...references.secrets].some((name) => !secrets.has(name)) ||
      [...references.files].some((name) => !files.has(name));
    this.#tracked = references;
    if (isNew) this.relist();
  }

  override pollSoon(): void {
    this.#vault.polls += 1;
  }

  override reader(record: SecretRecord | FileRecord): EntryReader {
    const name = "filename" in record ? record.filename : record.name;
    return async (version) => {
      const { bytes, version: actual } = await this.#vault.read(name, version);
      return { bytes: new Redacted(bytes), version: actual };
    };
  }
}

interface Value {
  readonly bytes: Uint8Array;
  readonly version: number;
}

/**
 * A vault whose secrets and files have the value `<vault> <name>@<version>`; a test sets its list
 * and may set how values are read.
 */
export class ListedVault {
  readonly name: string;
  secrets: readonly SecretRecord[] = [];
  files: readonly FileRecord[] = [];
  /** Number of lists that the operator asked for between two intervals. */
  polls = 0;
  /** Reads so far, each as `<name>@<version>`. */
  readonly reads: string[] = [];
  /** Replaces the value, or throws a VaultError. */
  expose: (
    name: string,
    version: number,
  ) => { readonly value?: string; readonly version?: number } = () => ({});
  readonly #connections = new Set<ListedConnection>();

  constructor(name: string) {
    this.name = name;
  }

  connect(clock: VirtualClock, callbacks: ConnectionCallbacks): Connection {
    const connection = new ListedConnection(this, clock, callbacks);
    this.#connections.add(connection);
    return connection;
  }

  /** Replaces the list by these secrets of the account, and lists it. */
  lists(...secrets: Partial<SecretRecord>[]): void {
    this.secrets = secrets.map((changes) => secretRecord({ owner: "ops@example.com", ...changes }));
    for (const connection of this.#connections) connection.relist();
  }

  /** Replaces the list of files by the first version of these, and lists it. */
  uploads(...filenames: readonly string[]): void {
    const first = { version: 1, size: 10, sha256: undefined };
    this.files = filenames.map((filename) => ({ filename, ...first, versions: [first] }));
    for (const connection of this.#connections) connection.relist();
  }

  read(name: string, version: number): Promise<Value> {
    this.reads.push(`${name}@${version}`);
    const exposed = this.expose(name, version);
    const actual = exposed.version ?? version;
    const value = exposed.value ?? `${this.name} ${name}@${actual}`;
    return Promise.resolve({ bytes: new TextEncoder().encode(value), version: actual });
  }

  /** Makes all connections fail, as an unreachable vault does. */
  fails(error: Error): void {
    for (const connection of this.#connections) connection.setHealth("failing", error);
  }
}
