import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BackupFile } from "../../../src/vault/server/backup/backup-file.ts";
import { KeyFile } from "../../../src/vault/server/crypto/key-file.ts";
import { KeyRing } from "../../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { openStore } from "../../../src/vault/server/store/open-store.ts";
import { backedUpTables } from "../../../src/vault/server/store/tables/raw-tables.ts";
import { PostgresDatabase } from "../postgres/postgres-database.ts";
import { runInProcess } from "../real/processes/run-in-process.ts";
import { VaultsyncProcess, type ProcessResult } from "../real/processes/vaultsync-process.ts";
import type { TestVault } from "./test-vault.ts";
import type { VaultClient } from "./vault-client.ts";
import { onPostgres, createVaultData, type VaultData } from "./vault-data.ts";

type Command = "backup" | "restore";

/** Part of every value that `fillForBackup` protects. */
export const canary = "canary-backup-5d07e1";

/** Data of a vault, its master key file, and a directory for backups. */
export class BackupData implements AsyncDisposable {
  readonly data: VaultData;
  readonly directory: string;

  private constructor(data: VaultData, directory: string) {
    this.data = data;
    this.directory = directory;
  }

  static async create(): Promise<BackupData> {
    const fixture = new BackupData(
      await createVaultData(),
      await mkdtemp(join(tmpdir(), "vaultsync-test-")),
    );
    await writeFile(
      fixture.path("key"),
      Buffer.from(generateMasterKey().reveal()).toString("base64"),
    );
    return fixture;
  }

  /** Environment that names the master key file. */
  get keyEnvironment(): Record<string, string> {
    return { VAULTSYNC_VAULT_MASTER_KEY_FILE: this.path("key") };
  }

  /** Opens a backup with the master key of the fixture. */
  open(name: string, unauthenticated = false): Promise<BackupFile> {
    return BackupFile.open(this.path(name), {
      keyOf: (id) => this.ring().find(id),
      unauthenticated,
    });
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  ring(): KeyRing {
    return new KeyRing(new KeyFile(this.path("key")));
  }

  /** Runs a command in a child process, while other processes write to the data. */
  runInChildProcess(
    command: Command,
    args: readonly string[],
    location: string,
  ): Promise<ProcessResult> {
    return VaultsyncProcess.run(["vault", command, ...args], {
      env: { VAULTSYNC_VAULT_DATA: location, ...this.keyEnvironment },
    });
  }

  run(command: Command, args: readonly string[], location?: string): Promise<ProcessResult> {
    return runInProcess(["vault", command, ...args], {
      ...this.keyEnvironment,
      ...(location !== undefined && { VAULTSYNC_VAULT_DATA: location }),
    });
  }

  backUp(to: string, ...more: string[]): Promise<ProcessResult> {
    return this.run("backup", ["--to", this.path(to), ...more], this.data.location);
  }

  verify(from: string, ...more: string[]): Promise<ProcessResult> {
    return this.run("restore", ["--from", this.path(from), "--verify", ...more]);
  }

  /** Returns an empty location in the store under test or in the other one. */
  async target(kind: "same" | "other"): Promise<{ location: string } & AsyncDisposable> {
    if (onPostgres() && kind === "same") {
      const database = await PostgresDatabase.create({ empty: true });
      return {
        location: database.url,
        [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
      };
    }
    const location = this.path(`restored-${randomBytes(4).toString("hex")}.db`);
    return { location, [Symbol.asyncDispose]: async () => undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.data[Symbol.asyncDispose]();
    await rm(this.directory, { recursive: true });
  }
}

/**
 * Fills a vault with versions, a gap, deadlines, grants, a team, dismissed grants and files of
 * several chunks.
 */
export async function fillForBackup(
  vault: TestVault,
): Promise<{ ann: VaultClient; bob: VaultClient; file: Buffer }> {
  const ann = await vault.client("ann@example.com");
  const bob = await vault.client("bob@example.com");
  for (let n = 1; n <= 3; n += 1)
    await ann.call("protect", { key_name: "many", key_value: `${canary}-${n}`, delete_time: 1000 });
  await ann.call("version_delete", { key_name: "many", key_version: 3 });
  await ann.call("protect", {
    key_name: "odd \u2028 ü 🔑",
    key_value: canary,
    metadata: { own: { deep: [1, null, "\u0000"] } },
  });
  await ann.call("team_create", { group_id: "crew", members: [bob.email, "later@example.com"] });
  await ann.call("protect", { key_name: "shared", key_value: `${canary}-shared` });
  await ann.call("share", {
    key_name: "shared",
    permission: "RW",
    usr_id_from: ann.email,
    usr_id_to: "later@example.com",
  });
  await ann.call("share", {
    key_name: "shared",
    permission: "R",
    usr_id_from: ann.email,
    group_id_to: "crew",
  });
  await bob.call("protect", { key_name: "bobs", key_value: `${canary}-bobs` });
  await bob.call("share", {
    key_name: "bobs",
    permission: "W",
    usr_id_from: bob.email,
    group_id_to: "crew",
  });
  await ann.call("delete_shared_key_link", { key_name: "bobs" });
  const file = randomBytes(700_000);
  await bob.upload([{ filename: "big", bytes: Buffer.from("first") }]);
  await bob.upload([{ filename: "big", bytes: file }]);
  return { ann, bob, file };
}

/** Returns all rows that a backup includes, by table. */
export async function dump(location: string): Promise<Record<string, string[]>> {
  await using store = await openStore(location);
  return store.read(async ({ tables }) => {
    const all: Record<string, string[]> = {};
    for (const table of backedUpTables)
      all[table.name] = (await tables.page(table, undefined, 1000)).map((row) =>
        JSON.stringify(row.map(plain)),
      );
    return all;
  });
}
const plain = (cell: unknown): unknown =>
  cell instanceof Uint8Array ? Buffer.from(cell).toString("hex") : cell;
