import type { Redacted } from "../../../src/lib/redacted.ts";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import type { VaultServerOptions } from "../../../src/vault/server/vault-server.ts";
import { PostgresDatabase } from "../postgres/postgres-database.ts";
import { TestVault } from "./test-vault.ts";
import type { VaultClient } from "./vault-client.ts";

/** Two servers on one database, with the accounts of `TestVault`. */
export class Replicas implements AsyncDisposable {
  readonly one: TestVault;
  readonly two: TestVault;
  readonly database: PostgresDatabase;
  readonly masterKey: Redacted<Uint8Array>;
  readonly #running: AsyncDisposableStack;

  private constructor(
    parts: Pick<Replicas, "one" | "two" | "database" | "masterKey">,
    running: AsyncDisposableStack,
  ) {
    this.one = parts.one;
    this.two = parts.two;
    this.database = parts.database;
    this.masterKey = parts.masterKey;
    this.#running = running;
  }

  static async start(options: Partial<VaultServerOptions> = {}): Promise<Replicas> {
    await using starting = new AsyncDisposableStack();
    const database = starting.use(await PostgresDatabase.create());
    const masterKey = generateMasterKey();
    const one = starting.use(await TestVault.start({ ...options, data: database.url, masterKey }));
    const two = starting.use(
      await TestVault.start({ ...options, data: database.url, masterKey, dev: { users: [] } }),
    );
    return new Replicas({ one, two, database, masterKey }, starting.move());
  }

  /** Returns one client per server, with the same account and token. */
  async client(email: string, hours?: number): Promise<[one: VaultClient, two: VaultClient]> {
    const first = await this.one.client(email, undefined, hours);
    return [first, first.at(this.two.url)];
  }

  /** Logs in to the second server with an account of the first. */
  logInAtTwo(email: string, password = this.one.passwords.get(email) ?? "") {
    return this.two.logIn(email, { password });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running.disposeAsync();
  }
}
