import type { Redacted } from "../../../src/lib/redacted.ts";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { VaultsyncProcess } from "../real/processes/vaultsync-process.ts";
import type { TestDirectory } from "../test-directory.ts";
import { AUDIENCE, ISSUER, TestIssuer } from "./test-issuer.ts";
import { TestVault } from "./test-vault.ts";
import { scopeString } from "./vault-client.ts";
import { createVaultData, type VaultData } from "./vault-data.ts";

/** A vault server that trusts an issuer, for tests that add identities while it runs. */
export class IdentityVault implements AsyncDisposable {
  readonly vault: TestVault;
  readonly issuer: TestIssuer;
  readonly #data: VaultData;
  readonly #key: Redacted<Uint8Array>;

  private constructor(
    vault: TestVault,
    issuer: TestIssuer,
    data: VaultData,
    key: Redacted<Uint8Array>,
  ) {
    this.vault = vault;
    this.issuer = issuer;
    this.#data = data;
    this.#key = key;
  }

  static async start(directory: TestDirectory, audience = AUDIENCE): Promise<IdentityVault> {
    const file = directory.join("issuer-keys.json");
    const issuer = await TestIssuer.create(file);
    const data = await createVaultData();
    const masterKey = generateMasterKey();
    const identities = { issuers: [{ issuer: ISSUER, keys: file }], audiences: [audience] };
    const vault = await TestVault.start({ data: data.location, masterKey, identities });
    return new IdentityVault(vault, issuer, data, masterKey);
  }

  /** Lets a subject log in to an account. */
  add(subject: string, email: string, scope = scopeString()): Promise<void> {
    return this.#run("add", email, "--subject", subject, "--scope", scope);
  }

  remove(subject: string): Promise<void> {
    return this.#run("remove", "--subject", subject);
  }

  /** Runs `vaultsync vault identity` in another process: it waits for the writes of the server. */
  async #run(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await VaultsyncProcess.run(
      ["vault", "identity", ...args, "--issuer", ISSUER],
      {
        env: {
          VAULTSYNC_VAULT_DATA: this.#data.location,
          VAULTSYNC_VAULT_MASTER_KEY: Buffer.from(this.#key.reveal()).toString("base64"),
        },
      },
    );
    if (code !== 0) throw new Error(stderr);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.vault[Symbol.asyncDispose]();
    await this.#data[Symbol.asyncDispose]();
  }
}
