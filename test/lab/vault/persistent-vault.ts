import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redacted } from "../../../src/lib/redacted.ts";
import { ACCOUNT } from "../real/world.ts";
import { TestVault } from "./test-vault.ts";

/**
 * A vault on disk with the account {@link ACCOUNT} that can be stopped, and restarted with its data
 * or other data at the same address.
 */
export class PersistentVault implements AsyncDisposable {
  readonly password: string;
  readonly #directory: string;
  readonly #masterKey: Redacted<Uint8Array>;
  #running: TestVault;

  private constructor(directory: string, masterKey: Redacted<Uint8Array>, running: TestVault) {
    this.password = running.passwords.get(ACCOUNT) ?? "";
    this.#directory = directory;
    this.#masterKey = masterKey;
    this.#running = running;
  }

  static async start(): Promise<PersistentVault> {
    const directory = await mkdtemp(join(tmpdir(), "vaultsync-test-"));
    const masterKey = new Redacted<Uint8Array>(randomBytes(32));
    const data = join(directory, "vault.db");
    const vault = await TestVault.start({ emails: [ACCOUNT], data, masterKey });
    return new PersistentVault(directory, masterKey, vault);
  }

  /** The vault that runs, or ran last. */
  get vault(): TestVault {
    return this.#running;
  }

  get url(): string {
    return this.#running.url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** The master key in the form of `VAULTSYNC_VAULT_MASTER_KEY`. */
  get masterKey(): string {
    return Buffer.from(this.#masterKey.reveal()).toString("base64");
  }

  /** Returns the path of a file next to the data. The data is in `vault.db` at first. */
  path(name: string): string {
    return join(this.#directory, name);
  }

  async stop(): Promise<void> {
    await this.#running[Symbol.asyncDispose]();
  }

  async restart(data = "vault.db"): Promise<void> {
    this.#running = await TestVault.start({
      emails: [],
      listen: { host: "127.0.0.1", port: this.port },
      data: this.path(data),
      masterKey: this.#masterKey,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
