import type { Clock } from "../../src/lib/clock.ts";
import { InMemoryVault } from "../support/vault/in-memory/in-memory-vault.ts";
import { Rejection } from "../support/vault/in-memory/rejection.ts";
import type { VaultBackup } from "../support/vault/in-memory/vault-content.ts";

/** A part of every value of the simulation, so that one in the wrong place is recognized. */
export const CANARY = "cnry";

/** The source of a value, and the versions that it has ever been. */
export interface Origin {
  readonly kind: "secret" | "file";
  readonly vault: string;
  readonly owner: string;
  readonly name: string;
  readonly versions: Set<number>;
  /** Time at which it was written, in monotonic milliseconds. */
  readonly at: number;
  /** Number of values that were written before: several may be written within one millisecond. */
  readonly order: number;
  /** The bytes in base64 of the members of a value that is an object, by name. */
  readonly members: ReadonlyMap<string, string>;
}

/** The members of the secrets `name`: one that every version has, and one that every other version lacks. */
export const membersOf = (name: string): { readonly always: string; readonly sometimes: string } => ({
  always: `${name}-a`,
  sometimes: `${name}-b`,
});

const toBase64 = (text: string): string => Buffer.from(text).toString("base64");

export interface VaultEntry {
  readonly key_name: string;
  readonly key_version: number;
  readonly owner: string;
}

/** The vaults of the simulation, with the origin of each value that they have ever held. Every value is unique. */
export class SimulatedVaults {
  readonly #vaults = new Map<string, InMemoryVault>();
  readonly #backups = new Map<string, VaultBackup>();
  readonly #origins = new Map<string, Origin>();
  /** Entries (`<vault> <owner> <name>`) whose versions did not only increase: the operator may hold what it served. */
  readonly irregular = new Set<string>();
  /** Times at which deadlines remove entries, by `<vault> <name>`. */
  readonly #deadlines = new Map<string, number[]>();
  /** Time of the last change of an entry, in monotonic milliseconds, by `<vault> <name>`. */
  readonly #changedAt = new Map<string, number>();
  readonly #clock: Clock;
  #written = 0;

  constructor(clock: Clock, names: readonly string[]) {
    this.#clock = clock;
    for (const name of names) this.#vaults.set(name, new InMemoryVault(clock));
  }

  vault(name: string): InMemoryVault {
    const vault = this.#vaults.get(name);
    if (!vault) throw new Error(`no vault ${name}`);
    return vault;
  }

  get names(): Iterable<string> {
    return this.#vaults.keys();
  }

  /** Returns the origin of bytes in base64, if a vault has ever held them. */
  origin(base64: string): Origin | undefined {
    return this.#origins.get(base64);
  }

  /** Returns the member that these bytes are of their value; `undefined` if they are the value itself. */
  memberOf(base64: string): string | undefined {
    return [...(this.origin(base64)?.members ?? [])].find(([, bytes]) => bytes === base64)?.[0];
  }

  /** Returns the value that a vault now holds as the latest version of a source. */
  latestOf({ kind, vault, owner, name }: Origin): Origin | undefined {
    const version =
      kind === "file"
        ? this.files(vault, owner).find(({ filename }) => filename === name)?.version
        : this.list(vault, owner).find((entry) => entry.key_name === name && entry.owner === owner)?.key_version;
    const bytes = version === undefined ? undefined : this.vault(vault).bytesOf(kind, owner, name, version);
    return bytes && this.origin(Buffer.from(bytes).toString("base64"));
  }

  /** Returns the times, on the wall clock, at which deadlines have removed entries of this name or will. */
  deadlinesOf(vault: string, name: string): readonly number[] {
    return this.#deadlines.get(`${vault} ${name}`) ?? [];
  }

  /** Reports whether a deadline has removed an entry of this name in any vault, or will. */
  hasDeadline(name: string): boolean {
    return [...this.names].some((vault) => this.deadlinesOf(vault, name).length > 0);
  }

  /** Reports whether a deadline is between two times on the wall clock. */
  hasDeadlineBetween(start: number, end: number): boolean {
    return [...this.#deadlines.values()].flat().some((deadline) => deadline >= start && deadline <= end);
  }

  /** Returns the time of the last change of the entries of this name, in monotonic milliseconds. */
  changedAt(vault: string, name: string): number {
    return this.#changedAt.get(`${vault} ${name}`) ?? -Infinity;
  }

  /** Stores the next version of a secret. */
  write(vault: string, owner: string, name: string, deleteMinutes: number | undefined): void {
    this.#written += 1;
    const { always, sometimes } = membersOf(name);
    const names = this.#written % 2 === 0 ? [always, sometimes] : [always];
    const members = new Map(names.map((member) => [member, `${CANARY}-${this.#written}-${member}`]));
    const value = JSON.stringify(Object.fromEntries(members));
    const body = { key_name: name, key_value: value, metadata: { expiration_time: 36_500 }, delete_time: deleteMinutes };
    const isShared = this.list(vault, owner).some((entry) => entry.key_name === name && entry.owner === owner && entry.shared);
    this.#attempt(() => {
      const result = this.vault(vault).act(owner, isShared ? "protect_link" : "protect", { ...body, owner });
      const { secret } = result as { readonly secret: VaultEntry };
      this.#record(value, {
        kind: "secret",
        vault,
        owner,
        name,
        versions: new Set([secret.key_version]),
        at: this.#clock.monotonic(),
        order: this.#written,
        members: new Map([...members].map(([member, text]) => [member, toBase64(text)])),
      });
      if (deleteMinutes === undefined || isShared) return;
      const deadline = this.#clock.now() + deleteMinutes * 60_000;
      this.#deadlines.set(`${vault} ${name}`, [...this.deadlinesOf(vault, name), deadline]);
    });
  }

  upload(vault: string, owner: string, name: string): void {
    this.#written += 1;
    const value = `${CANARY}-${this.#written}-${name}`;
    this.vault(vault).upload(owner, name, Buffer.from(value));
    const { version } = this.files(vault, owner).find(({ filename }) => filename === name)!;
    const [at, order] = [this.#clock.monotonic(), this.#written];
    this.#record(value, { kind: "file", vault, owner, name, versions: new Set([version]), at, order, members: new Map() });
  }

  remove(vault: string, owner: string, name: string): void {
    this.#disturb(vault, owner, name);
    this.#attempt(() => this.vault(vault).act(owner, "delete", { key_name: name }));
    this.#attempt(() => this.vault(vault).act(owner, "delete_file", { filename: name }));
  }

  removeLatestVersion(vault: string, owner: string, name: string): void {
    this.#disturb(vault, owner, name);
    const entry = this.list(vault, owner).find((found) => found.owner === owner && found.key_name === name);
    if (entry)
      this.#attempt(() => this.vault(vault).act(owner, "version_delete", { key_name: name, key_version: entry.key_version }));
  }

  share(vault: string, owner: string, name: string, to: string | undefined): void {
    if (to === undefined) this.#disturb(vault, owner, name);
    else this.#changedAt.set(`${vault} ${name}`, this.#clock.monotonic());
    const share = { key_name: name, permission: "R", usr_id_from: owner, usr_id_to: to };
    this.#attempt(() => this.vault(vault).act(owner, to === undefined ? "unshare" : "share", share));
  }

  backUp(vault: string): void {
    this.#backups.set(vault, this.vault(vault).backup());
  }

  restore(vault: string): void {
    const backup = this.#backups.get(vault);
    if (!backup) return;
    this.vault(vault).restore(backup);
    for (const { vault: of, owner, name } of this.#origins.values()) if (of === vault) this.#disturb(vault, owner, name);
  }

  /** Returns the secrets that an account can read now. */
  list(vault: string, account: string): readonly (VaultEntry & { readonly shared: boolean })[] {
    return (this.vault(vault).act(account, "list_no_dup", {}) as { secrets: (VaultEntry & { shared: boolean })[] }).secrets;
  }

  /** Returns the files of an account. */
  files(vault: string, account: string): readonly { readonly filename: string; readonly version: number }[] {
    return (this.vault(vault).act(account, "list_file", {}) as { files: { filename: string; version: number }[] }).files;
  }

  #disturb(vault: string, owner: string, name: string): void {
    this.irregular.add(`${vault} ${owner} ${name}`);
    this.#changedAt.set(`${vault} ${name}`, this.#clock.monotonic());
  }

  #record(value: string, origin: Origin): void {
    this.#changedAt.set(`${origin.vault} ${origin.name}`, origin.at);
    for (const base64 of [toBase64(value), ...origin.members.values()]) this.#origins.set(base64, origin);
  }

  #attempt(act: () => void): void {
    try {
      act();
    } catch (error) {
      if (!(error instanceof Rejection)) throw error;
    }
  }
}
