import type { Clock } from "../../../src/lib/clock.ts";
import type { SimulatedVaults } from "../simulated-vaults.ts";

interface Span<T> {
  readonly value: T;
  readonly from: number;
  to: number;
}

/** Records what each key has been since when, in monotonic milliseconds. */
export class Timeline<T> {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #spans = new Map<string, Span<T>[]>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Takes in what a key is from now on; `undefined`: nothing. */
  set(key: string, value: T | undefined): void {
    const spans = this.#spans.get(key) ?? [];
    this.#spans.set(key, spans);
    const now = this.#clock.monotonic();
    const last = spans.at(-1);
    if (last?.to === Infinity) last.to = now;
    if (value !== undefined) spans.push({ value, from: now, to: Infinity });
  }

  /** Returns everything that a key was during the last `ms`, the latest first. */
  during(key: string, ms: number): T[] {
    const since = this.#clock.monotonic() - ms;
    const spans = this.#spans.get(key) ?? [];
    return spans
      .filter(({ to }) => to >= since)
      .map(({ value }) => value)
      .toReversed();
  }

  /** Returns what a key was without a change during the last `ms`. */
  throughout(key: string, ms: number): T | undefined {
    const last = this.#spans.get(key)?.at(-1);
    const isSteady = last?.to === Infinity && last.from <= this.#clock.monotonic() - ms;
    return isSteady ? last.value : undefined;
  }

  now(key: string): T | undefined {
    return this.throughout(key, 0);
  }

  keys(): Iterable<string> {
    return this.#spans.keys();
  }
}

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

/**
 * Records who wrote which versions of the entries, and what each process has read of them. A version
 * that is not recorded is of another writer.
 */
export class EntryJournal {
  readonly #vaults: SimulatedVaults;
  readonly #bytes: Timeline<string>;
  /** All versions that there have been, since an entry was deleted last. */
  readonly #entries = new Map<string, EntryVersion[]>();
  /** The uids of the VaultPushes that have ever created the entry. */
  readonly #creators = new Map<string, Set<string>>();
  readonly #created = new Map<string, EntryRef>();
  readonly #reads = new Map<string, EntryVersion | undefined>();

  constructor(vaults: SimulatedVaults, clock: Pick<Clock, "monotonic">) {
    this.#vaults = vaults;
    this.#bytes = new Timeline(clock);
  }

  /** Returns the latest version; `undefined` if the vault has no such entry, or not any more. */
  latest(ref: EntryRef): EntryVersion | undefined {
    const version = this.#vaults.versionOf(ref);
    return version === undefined ? undefined : this.version(ref, version);
  }

  /** Returns a version that the vault has. */
  version(ref: EntryRef, version: number): EntryVersion | undefined {
    const { vault, owner, kind, name } = ref;
    const bytes =
      version === 0 ? undefined : this.#vaults.vault(vault).bytesOf(kind, owner, name, version);
    if (bytes === undefined) return undefined;
    const base64 = Buffer.from(bytes).toString("base64");
    const known = this.#entries
      .get(entryKey(ref))
      ?.findLast((one) => one.version === version && one.base64 === base64);
    return known ?? { version, base64, by: new Set() };
  }

  wrote(ref: EntryRef, written: EntryVersion): void {
    const key = entryKey(ref);
    this.#entries.set(key, [...(this.#entries.get(key) ?? []), written]);
    this.#bytes.set(key, written.base64);
    if (written.version > 1) return;
    this.#created.set(key, ref);
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

  /** Returns the entries of a kind that were ever created for an account. */
  created({ vault, owner, kind }: Omit<EntryRef, "name">): readonly EntryRef[] {
    return [...this.#created.values()].filter(
      (one) => one.vault === vault && one.owner === owner && one.kind === kind,
    );
  }

  creators(ref: EntryRef): ReadonlySet<string> {
    return this.#creators.get(entryKey(ref)) ?? new Set();
  }
}
