import type { Clock } from "../../src/lib/clock.ts";
import { InMemoryVault } from "../lab/simulated/vault/in-memory-vault.ts";
import { Rejection } from "../lab/simulated/vault/rejection.ts";
import type { VaultBackup } from "../lab/simulated/vault/vault-content.ts";
import { urlOf } from "./cast.ts";
import { type Origin, Origins } from "./origins.ts";
import { CANARY, canariesIn, type ValueForm, valueOf } from "./simulated-values.ts";

export type { Origin } from "./origins.ts";

/** The entry that has a value. */
type Place = Pick<Origin, "kind" | "vault" | "owner" | "name">;

/** Secrets of a vault that disappear together. */
export interface Vanished {
  readonly vault: string;
  readonly prefix: string;
  /** The account whose secrets stay, if there is one. */
  readonly spared?: string | undefined;
}

/** Properties of a written secret, other than its name. */
export interface WriteOptions {
  readonly minutes?: number;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly form?: ValueForm;
}

const toBase64 = (text: string): string => Buffer.from(text).toString("base64");

export interface VaultEntry {
  readonly key_name: string;
  readonly key_version: number;
  readonly owner: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * The vaults of the simulation, with the origin of each value that they have ever held. Every value
 * is unique.
 */
export class SimulatedVaults {
  readonly #vaults = new Map<string, InMemoryVault>();
  readonly #backups = new Map<string, VaultBackup>();
  /** The vaults that had their backup restored. */
  readonly restored = new Set<string>();
  readonly origins = new Origins();
  /** The parts of values that users have put into Secrets, by the bytes of the whole in base64. */
  readonly #made = new Map<string, ReadonlyMap<string, string>>();
  /**
   * Entries (`<vault> <owner> <name>`) whose versions did not only increase: the operator may hold
   * what it served.
   */
  readonly irregular = new Set<string>();
  /** Times at which deadlines remove entries, by `<vault> <name>`. */
  readonly #deadlines = new Map<string, { readonly owner: string; readonly at: number }[]>();
  /** Time of the last change of an entry, in monotonic milliseconds, by `<vault> <name>`. */
  readonly #changedAt = new Map<string, number>();
  readonly #clock: Clock;
  #written = 0;

  constructor(clock: Clock, names: readonly string[]) {
    this.#clock = clock;
    for (const name of names) {
      const vault = new InMemoryVault(clock);
      vault.audience = urlOf(name);
      this.#vaults.set(name, vault);
    }
  }

  vault(name: string): InMemoryVault {
    const vault = this.#vaults.get(name);
    if (!vault) throw new Error(`no vault ${name}`);
    return vault;
  }

  /** Number of values that were written. */
  get written(): number {
    return this.#written;
  }

  get names(): Iterable<string> {
    return this.#vaults.keys();
  }

  /** Returns the origin of bytes in base64, if a vault has ever held them. */
  origin(base64: string): Origin | undefined {
    return this.origins.of(base64);
  }

  /** Returns the origins of the values that these bytes are, or were made of. */
  originsIn(base64: string): readonly Origin[] {
    return this.origins.in(base64);
  }

  /** Reports whether these bytes are this part of a value; `undefined`: the value itself. */
  isPart(base64: string, part: string | undefined): boolean {
    const parts = this.origin(base64)?.parts ?? new Map<string, string>();
    return part === undefined ? ![...parts.values()].includes(base64) : parts.get(part) === base64;
  }

  /** Returns the latest version of a source; `undefined` if the vault has none. */
  versionOf({ kind, vault, owner, name }: Place): number | undefined {
    return kind === "file"
      ? this.files(vault, owner).find(({ filename }) => filename === name)?.version
      : this.list(vault, owner).find((entry) => entry.key_name === name && entry.owner === owner)
          ?.key_version;
  }

  /** Returns the value that a vault now holds as the latest version of a source. */
  latestOf(source: Place): Origin | undefined {
    const { kind, vault, owner, name } = source;
    const version = this.versionOf(source);
    const bytes =
      version === undefined ? undefined : this.vault(vault).bytesOf(kind, owner, name, version);
    return bytes && this.origin(Buffer.from(bytes).toString("base64"));
  }

  /**
   * Returns the times, on the wall clock, at which deadlines have removed entries of this name or
   * will: entries of one owner, or of all.
   */
  deadlinesOf(vault: string, name: string, owner?: string): readonly number[] {
    const all = this.#deadlines.get(`${vault} ${name}`) ?? [];
    return all.filter((one) => owner === undefined || one.owner === owner).map(({ at }) => at);
  }

  /** Reports whether a deadline has removed an entry of this name in any vault, or will. */
  hasDeadline(name: string): boolean {
    return [...this.names].some((vault) => this.deadlinesOf(vault, name).length > 0);
  }

  /** Reports whether a deadline is between two times on the wall clock. */
  hasDeadlineBetween(start: number, end: number): boolean {
    return [...this.#deadlines.values()].flat().some(({ at }) => at >= start && at <= end);
  }

  /** Returns the time of the last change of the entries of this name, in monotonic milliseconds. */
  changedAt(vault: string, name: string): number {
    return this.#changedAt.get(`${vault} ${name}`) ?? -Infinity;
  }

  /** Stores the next version of a secret. */
  write(
    vault: string,
    owner: string,
    name: string,
    { minutes, metadata, form = "plain" }: WriteOptions,
  ): void {
    this.#written += 1;
    const number = this.#written;
    const { text, parts } = valueOf(form, number, name);
    const all = { expiration_time: 36_500, ...metadata };
    const body = { key_name: name, key_value: text, metadata: all, delete_time: minutes };
    const isShared = this.list(vault, owner).some(
      (entry) => entry.key_name === name && entry.owner === owner && entry.shared,
    );
    this.#attempt(() => {
      const result = this.vault(vault).act(owner, isShared ? "protect_link" : "protect", {
        ...body,
        owner,
      });
      const { secret } = result as { readonly secret: VaultEntry };
      const at = this.#clock.monotonic();
      this.#record({
        kind: "secret",
        vault,
        owner,
        name,
        versions: new Set([secret.key_version]),
        at,
        order: number,
        whole: toBase64(text),
        parts,
        metadata: [secret.metadata],
      });
      if (minutes !== undefined && !isShared) this.#setDeadline({ vault, owner, name }, minutes);
    });
  }

  upload(vault: string, owner: string, name: string): void {
    this.#written += 1;
    const value = `${CANARY}-${this.#written}-${name}`;
    this.vault(vault).upload(owner, name, Buffer.from(value));
    const { version } = this.files(vault, owner).find(({ filename }) => filename === name)!;
    const [at, order] = [this.#clock.monotonic(), this.#written];
    this.#record({
      kind: "file",
      vault,
      owner,
      name,
      versions: new Set([version]),
      at,
      order,
      whole: toBase64(value),
      parts: new Map(),
      metadata: [],
    });
  }

  /** Returns a value in base64 that no vault has: a user puts it into a Secret. */
  make(form: ValueForm, name: string): string {
    this.#written += 1;
    const { text, parts } = valueOf(form, this.#written, name);
    this.#made.set(toBase64(text), parts);
    return toBase64(text);
  }

  /** Takes in that a VaultPush has written a version of an entry. */
  pushed(
    ref: Place,
    {
      version,
      base64,
      metadata = {},
      minutes,
    }: {
      readonly version: number;
      readonly base64: string;
      readonly metadata?: Readonly<Record<string, unknown>> | undefined;
      readonly minutes?: number | undefined;
    },
  ): void {
    this.#written += 1;
    const parts = this.#made.get(base64) ?? new Map<string, string>();
    const [at, order] = [this.#clock.monotonic(), this.#written];
    const versions = new Set([version]);
    const numbers = canariesIn(Buffer.from(base64, "base64"));
    this.#record(
      { ...ref, versions, at, order, whole: base64, parts, metadata: [metadata] },
      numbers,
    );
    if (minutes !== undefined) this.#setDeadline(ref, minutes);
  }

  /** Takes in that a VaultPush has deleted an entry. */
  deletedByPush({ vault, owner, name }: Place): void {
    this.#disturb(vault, owner, name);
  }

  #setDeadline(
    { vault, owner, name }: Pick<Origin, "vault" | "owner" | "name">,
    minutes: number,
  ): void {
    const deadline = { owner, at: this.#clock.now() + minutes * 60_000 };
    const key = `${vault} ${name}`;
    this.#deadlines.set(key, [...(this.#deadlines.get(key) ?? []), deadline]);
  }

  remove(vault: string, owner: string, name: string): void {
    this.#disturb(vault, owner, name);
    this.#attempt(() => this.vault(vault).act(owner, "delete", { key_name: name }));
    this.#attempt(() => this.vault(vault).act(owner, "delete_file", { filename: name }));
  }

  /** Removes all secrets of a vault whose names begin with a prefix. */
  vanish({ vault, prefix, spared }: Vanished): void {
    for (const { vault: of, owner, name } of this.origins.all())
      if (of === vault && owner !== spared && name.startsWith(prefix))
        this.remove(vault, owner, name);
  }

  removeLatestVersion(vault: string, owner: string, name: string): void {
    this.#disturb(vault, owner, name);
    const entry = this.list(vault, owner).find(
      (found) => found.owner === owner && found.key_name === name,
    );
    if (entry)
      this.#attempt(() =>
        this.vault(vault).act(owner, "version_delete", {
          key_name: name,
          key_version: entry.key_version,
        }),
      );
  }

  share(vault: string, owner: string, name: string, to: string | undefined): void {
    if (to === undefined) this.#disturb(vault, owner, name);
    else this.#changedAt.set(`${vault} ${name}`, this.#clock.monotonic());
    const share = { key_name: name, permission: "R", usr_id_from: owner, usr_id_to: to };
    this.#attempt(() =>
      this.vault(vault).act(owner, to === undefined ? "unshare" : "share", share),
    );
  }

  backUp(vault: string): void {
    this.#backups.set(vault, this.vault(vault).backup());
  }

  restore(vault: string): void {
    const backup = this.#backups.get(vault);
    if (!backup) return;
    this.vault(vault).restore(backup);
    this.restored.add(vault);
    for (const { vault: of, owner, name } of this.origins.all())
      if (of === vault) this.#disturb(vault, owner, name);
  }

  /** Returns the secrets that an account can read now. */
  list(vault: string, account: string): readonly (VaultEntry & { readonly shared: boolean })[] {
    return (
      this.vault(vault).act(account, "list_no_dup", {}) as {
        secrets: (VaultEntry & { shared: boolean })[];
      }
    ).secrets;
  }

  /** Returns the files of an account. */
  files(
    vault: string,
    account: string,
  ): readonly { readonly filename: string; readonly version: number }[] {
    return (
      this.vault(vault).act(account, "list_file", {}) as {
        files: { filename: string; version: number }[];
      }
    ).files;
  }

  #disturb(vault: string, owner: string, name: string): void {
    this.irregular.add(`${vault} ${owner} ${name}`);
    this.#changedAt.set(`${vault} ${name}`, this.#clock.monotonic());
  }

  #record(origin: Origin, numbers?: readonly number[]): void {
    this.#changedAt.set(`${origin.vault} ${origin.name}`, origin.at);
    this.origins.add(origin, numbers);
  }

  #attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
    }
  }
}
