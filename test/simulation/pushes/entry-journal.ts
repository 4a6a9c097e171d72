import type { Clock } from "../../../src/lib/clock.ts";
import type { SimulatedVaults } from "../simulated-vaults.ts";
import { Timeline } from "./timeline.ts";

/** An entry of a vault. */
export interface EntryRef {
  readonly vault: string;
  readonly owner: string;
  readonly kind: "secret" | "file";
  readonly name: string;
}

/** A version of an entry. */
export interface EntryVersion {
  readonly version: number;
  readonly base64: string;
  /** The uids of the VaultPushes that may have written it; none: another writer did. */
  readonly by: ReadonlySet<string>;
}

export const entryKey = ({ vault, owner, kind, name }: EntryRef): string =>
  `${vault} ${owner} ${kind} ${name}`;

/** Records who wrote which versions of the entries, and what each process has read of them. */
export class EntryJournal {
  readonly #vaults: SimulatedVaults;
  readonly #bytes: Timeline<string>;
  /** The versions since the entry was created last. */
  readonly #entries = new Map<string, EntryVersion[]>();
  /** The uids of the VaultPushes that have ever created the entry. */
  readonly #creators = new Map<string, Set<string>>();
  readonly #reads = new Map<string, EntryVersion | undefined>();

  constructor(vaults: SimulatedVaults, clock: Pick<Clock, "monotonic">) {
    this.#vaults = vaults;
    this.#bytes = new Timeline(clock);
  }

  /** Returns the latest version; `undefined` if the vault has no such entry, or not any more. */
  latest(ref: EntryRef): EntryVersion | undefined {
    const { vault, owner, kind, name } = ref;
    const latest = this.#entries.get(entryKey(ref))?.at(-1);
    if (latest === undefined) return undefined;
    const bytes = this.#vaults.vault(vault).bytesOf(kind, owner, name, latest.version);
    if (bytes !== undefined && Buffer.from(bytes).toString("base64") === latest.base64)
      return latest;
    this.#entries.delete(entryKey(ref));
    return undefined;
  }

  wrote(ref: EntryRef, written: EntryVersion): void {
    const key = entryKey(ref);
    const versions = written.version === 1 ? [] : (this.#entries.get(key) ?? []);
    this.#entries.set(key, [...versions, written]);
    this.#bytes.set(key, written.base64);
    if (written.version > 1) return;
    this.#creators.set(key, new Set([...this.creators(ref), ...written.by]));
  }

  deleted(ref: EntryRef): void {
    this.#entries.delete(entryKey(ref));
    this.#bytes.set(entryKey(ref), undefined);
  }

  /** Returns the bytes in base64 that the entry had during the last `ms`. */
  recent(ref: EntryRef, ms: number): readonly string[] {
    return this.#bytes.during(entryKey(ref), ms);
  }

  /** Takes in that a process reads the latest version. */
  read(user: string, ref: EntryRef): void {
    this.#reads.set(`${user} ${entryKey(ref)}`, this.latest(ref));
  }

  /** Returns the version that a process has read last. */
  readBy(user: string, ref: EntryRef): EntryVersion | undefined {
    return this.#reads.get(`${user} ${entryKey(ref)}`);
  }

  creators(ref: EntryRef): ReadonlySet<string> {
    return this.#creators.get(entryKey(ref)) ?? new Set();
  }
}
