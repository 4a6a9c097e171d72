import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redacted } from "../../../src/lib/redacted.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import { ACCOUNT } from "../../lab/real/world.ts";

/**
 * A vault that can be stopped, and restarted with its data at the same address. Until the restart,
 * another server can replace it.
 */
export class PersistentVault implements AsyncDisposable {
  readonly #directory: string;
  readonly #masterKey = new Redacted<Uint8Array>(randomBytes(32));
  #running: TestVault | undefined;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async start(): Promise<{ persistent: PersistentVault; vault: TestVault }> {
    const persistent = new PersistentVault(await mkdtemp(join(tmpdir(), "vaultsync-e2e-")));
    const vault = await persistent.#start([ACCOUNT], 0);
    return { persistent, vault };
  }

  async stop(): Promise<void> {
    await this.#running?.[Symbol.asyncDispose]();
  }

  async restart(): Promise<void> {
    await this.#start([], this.#port);
  }

  /** Serves another handler at the address of the vault until the returned handle is disposed. */
  async impostor(respond: RequestListener): Promise<AsyncDisposable> {
    const server = createServer(respond);
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    return {
      async [Symbol.asyncDispose]() {
        server.close();
        server.closeAllConnections();
        await once(server, "close");
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  get #port(): number {
    return Number(new URL(this.#running?.url ?? "").port);
  }

  async #start(emails: readonly string[], port: number): Promise<TestVault> {
    const listen = { host: "127.0.0.1", port };
    const data = join(this.#directory, "vault.db");
    this.#running = await TestVault.start({ emails, listen, data, masterKey: this.#masterKey });
    return this.#running;
  }
}
