import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresCluster } from "../postgres/postgres-cluster.ts";

export const storeKinds = ["sqlite", "postgres"] as const;
export type StoreKind = (typeof storeKinds)[number];

/** Somewhere for the data of a vault that runs as a process of its own: a SQLite file, or a PostgreSQL server. Gone when disposed. */
export class VaultPlace implements AsyncDisposable {
  readonly data: string;
  /** For `vaultsync vault serve`. */
  readonly args: readonly string[];
  readonly #owned: AsyncDisposableStack;

  private constructor(data: string, args: readonly string[], owned: AsyncDisposableStack) {
    this.data = data;
    this.args = args;
    this.#owned = owned;
  }

  /** @param data an existing place, instead of a new one */
  static async create(kind: StoreKind, data?: string): Promise<VaultPlace> {
    await using owned = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-place-"));
    owned.defer(() => rm(directory, { recursive: true }));
    const masterKey = join(directory, "master.key");
    await writeFile(masterKey, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600 });
    const newData = async (): Promise<string> =>
      kind === "sqlite" ? join(directory, "vault.db") : owned.use(await PostgresCluster.start()).url();
    const location = data ?? (await newData());
    const args = ["--data", location, "--master-key-file", masterKey];
    const beside = ["--mail-dir", join(directory, "mail"), "--audit-log", join(directory, "audit.jsonl")];
    return new VaultPlace(location, [...args, ...beside], owned.move());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
