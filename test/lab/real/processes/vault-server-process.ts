import { z } from "zod";
import { VaultClient } from "../../vault/vault-client.ts";
import { VaultsyncProcess, type ProcessOptions } from "./vaultsync-process.ts";

/** The line that `vaultsync vault serve` prints when it is ready. */
export const readyLine = z.strictObject({
  url: z.string(),
  metrics_url: z.string().optional(),
  users: z.array(z.strictObject({ email: z.string(), password: z.string() })).optional(),
  mail_dir: z.string().optional(),
});

/**
 * `vaultsync vault serve` on a free port, for tests that measure or kill it. Disposing it stops it.
 */
export class VaultServerProcess extends VaultsyncProcess {
  #ready: z.infer<typeof readyLine> = { url: "" };

  /**
   * Starts a server and waits until it is ready. @throws Error with its standard error when it
   * exits first
   */
  static async start(
    args: readonly string[],
    options: ProcessOptions = {},
  ): Promise<VaultServerProcess> {
    const listen =
      options.env?.["VAULTSYNC_VAULT_LISTEN"] === undefined ? ["--listen", "127.0.0.1:0"] : [];
    const server = new VaultServerProcess(
      ["vault", "serve", "--metrics-listen", "127.0.0.1:0", ...listen, ...args],
      options,
    );
    server.#ready = await server.waitForOutput(({ stdout }) =>
      stdout.includes("\n") ? readyLine.parse(JSON.parse(stdout)) : undefined,
    );
    return server;
  }

  get url(): string {
    return this.#ready.url;
  }

  get metricsUrl(): string {
    return this.#ready.metrics_url ?? "";
  }

  /** Passwords of the accounts that `--dev-users` created, by email. */
  get passwords(): ReadonlyMap<string, string> {
    return new Map(this.#ready.users?.map(({ email, password }) => [email, password]));
  }

  /** Logs in to an account that `--dev-users` created. */
  client(email: string): Promise<VaultClient> {
    return VaultClient.connect(this.url, email, this.passwords.get(email));
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGTERM");
  }
}
