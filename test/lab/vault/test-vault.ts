import { rm } from "node:fs/promises";
import type { OutgoingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { operationPath } from "../../../src/protocol/operation-paths.ts";
import {
  startVaultServer,
  type VaultServer,
  type VaultServerOptions,
} from "../../../src/vault/server/vault-server.ts";
import { valueIn } from "../monitoring/scrape.ts";
import { PostgresDatabase } from "../postgres/postgres-database.ts";
import { scopeString, sendRequest, VaultClient, type VaultResponse } from "./vault-client.ts";
import { CHEAP_HASH } from "./store-location.ts";
import { onPostgres } from "./vault-data.ts";

/**
 * A vault server with test accounts on a free port; its data is in memory, or in its own database
 * in the project `postgres`.
 */
export class TestVault implements AsyncDisposable {
  readonly url: string;
  readonly metricsUrl: string;
  readonly passwords: ReadonlyMap<string, string>;
  /** Directory of the `.eml` files, unless emails are sent by SMTP. */
  readonly mailDirectory: string | undefined;
  readonly #dispose: () => PromiseLike<void>;

  private constructor(server: VaultServer, running: AsyncDisposableStack) {
    this.url = server.url;
    this.metricsUrl = server.metricsUrl ?? "";
    this.passwords = new Map(server.users.map(({ email, password }) => [email, password.reveal()]));
    this.mailDirectory = server.mailDirectory;
    this.#dispose = () => running.disposeAsync();
  }

  static async start(
    options: Partial<VaultServerOptions> & { readonly emails?: readonly string[] } = {},
  ): Promise<TestVault> {
    const { emails = ["ann@example.com", "bob@example.com"], ...others } = options;
    await using starting = new AsyncDisposableStack();
    const database =
      others.data === undefined && onPostgres()
        ? starting.use(await PostgresDatabase.create())
        : undefined;
    const server = await startVaultServer({
      listen: { host: "127.0.0.1", port: 0 },
      metricsListen: { host: "127.0.0.1", port: 0 },
      data: database?.url ?? ":memory:",
      dev: { users: emails },
      passwordCost: CHEAP_HASH,
      ...others,
    });
    const { mailDirectory = "" } = server;
    if (mailDirectory.startsWith(join(tmpdir(), "vaultsync-mail-"))) {
      starting.defer(() => rm(mailDirectory, { recursive: true, force: true }));
    }
    starting.use(server);
    return new TestVault(server, starting.move());
  }

  post(path: string, body: unknown, headers: OutgoingHttpHeaders = {}): Promise<VaultResponse> {
    return sendRequest(this.url + path, {
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  }

  /** Calls `generate_access_token`. */
  logIn(
    email: string,
    more: { readonly password?: string; readonly scope?: string; readonly hours?: unknown } = {},
  ): Promise<VaultResponse> {
    const { password = this.passwords.get(email) ?? "", scope = scopeString(), hours = 1 } = more;
    return this.post(operationPath.generate_access_token, {
      email,
      password,
      scope,
      expiration_hours: hours,
    });
  }

  /** Returns a client with an access token. */
  async client(email: string, scope?: string, hours?: number): Promise<VaultClient> {
    const response = await this.logIn(email, {
      ...(scope !== undefined && { scope }),
      ...(hours !== undefined && { hours }),
    });
    if (response.status !== 200) throw new Error(`login failed: ${response.bytes.toString()}`);
    return new VaultClient(this.url, email, { token: response.json().access_token });
  }

  /** Returns the value of one sample of `/metrics`, 0 when it is missing. */
  async metric(sample: string): Promise<number> {
    const { bytes } = await sendRequest(`${this.metricsUrl}/metrics`, { method: "GET" });
    return valueIn(bytes.toString(), sample) ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dispose();
  }
}
