import { randomBytes } from "node:crypto";
import { writeFile, mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redacted } from "../../../src/lib/redacted.ts";
import { addUser } from "../../../src/vault/server/accounts/users.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { KeyFile } from "../../../src/vault/server/crypto/key-file.ts";
import { KeyRing } from "../../../src/vault/server/crypto/key-ring.ts";
import { checkData } from "../../../src/vault/server/store/check-data.ts";
import { openStore } from "../../../src/vault/server/store/open-store.ts";
import { RowMacs } from "../../../src/vault/server/store/row-macs.ts";
import type { Store } from "../../../src/vault/server/store/store.ts";
import { PostgresCluster, type PostgresClusterOptions } from "../postgres/postgres-cluster.ts";

export const storeKinds = ["sqlite", "postgres"] as const;
export type StoreKind = (typeof storeKinds)[number];

/** Cheap parameters for password hashes, where a test or benchmark does not measure them. */
export const CHEAP_HASH = { memoryKib: 8, passes: 1, lanes: 1 };

/** Adds accounts with this password; without one, the password of each is its email. */
export async function addAccounts(
  store: Store,
  emails: readonly string[],
  password?: string,
): Promise<void> {
  for (const email of emails)
    await addUser(store, email, new Redacted(password ?? email), Date.now(), CHEAP_HASH);
}

/**
 * Storage for a vault server in a child process: a SQLite file or a PostgreSQL server. Disposing it
 * removes it.
 */
export class StoreLocation implements AsyncDisposable {
  readonly data: string;
  /** Arguments of `vaultsync vault serve`. */
  readonly args: readonly string[];
  /** The PostgreSQL server that was started for it. */
  readonly cluster: PostgresCluster | undefined;
  readonly masterKeyFile: string;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    data: string,
    masterKeyFile: string,
    args: readonly string[],
    cluster: PostgresCluster | undefined,
    owned: AsyncDisposableStack,
  ) {
    this.data = data;
    this.masterKeyFile = masterKeyFile;
    this.args = args;
    this.cluster = cluster;
    this.#owned = owned;
  }

  /**
   * @param data an existing location instead of a new one
   * @param options of a PostgreSQL server that is started
   */
  static async create(
    kind: StoreKind,
    data?: string,
    options: PostgresClusterOptions = {},
  ): Promise<StoreLocation> {
    await using owned = new AsyncDisposableStack();
    const directory = owned.use(await mkdtempDisposable(join(tmpdir(), "vaultsync-test-"))).path;
    const masterKey = join(directory, "master.key");
    await writeFile(masterKey, `${randomBytes(32).toString("base64")}\n`, { mode: 0o600 });
    const isNewCluster = kind === "postgres" && data === undefined;
    const cluster = isNewCluster ? owned.use(await PostgresCluster.start(options)) : undefined;
    const location = data ?? cluster?.url() ?? join(directory, "vault.db");
    const args = ["--data", location, "--master-key-file", masterKey];
    const outputs = [
      "--mail-dir",
      join(directory, "mail"),
      "--audit-log",
      join(directory, "audit.jsonl"),
      "--log-level",
      "error",
    ];
    return new StoreLocation(location, masterKey, [...args, ...outputs], cluster, owned.move());
  }

  /**
   * Opens the store with the master key, to add accounts.
   * @param openWith of another build of the server
   */
  async open(openWith: typeof openStore = openStore): Promise<Store> {
    const keys = new KeyRing(new KeyFile(this.masterKeyFile));
    const store = await openWith(this.data, new RowMacs(keys));
    await checkData(store, keys, { logger: silentLogger });
    return store;
  }

  /** Adds accounts as {@link addAccounts} does, while no server runs. */
  async addAccounts(emails: readonly string[], password?: string): Promise<void> {
    await using store = await this.open();
    await addAccounts(store, emails, password);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
