import type { Redacted } from "../../../src/lib/redacted.ts";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { VaultsyncProcess } from "../real/processes/vaultsync-process.ts";
import type { TestDirectory } from "../test-directory.ts";
import { TestVault } from "./test-vault.ts";
import { scopeString } from "./vault-client.ts";
import { createVaultData, type VaultData } from "./vault-data.ts";
import { writeFile } from "node:fs/promises";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

/** Issuer and audience of tokens that a test says nothing else about. */
export const ISSUER = "https://kubernetes.example.com";
/** Another issuer that an `IdentityVault` trusts. */
export const OTHER_ISSUER = "https://other.example.com";
export const AUDIENCE = "https://vault.example.com";

/** Returns the subject of a ServiceAccount. */
export const serviceAccount = (namespace: string, name = "vaultsync"): string =>
  `system:serviceaccount:${namespace}:${name}`;

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

interface TokenOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly claims?: JWTPayload;
  /** Names of claims to omit. */
  readonly without?: readonly string[];
  /** Id of the key that the token names; by default the last one. */
  readonly kid?: string;
}

/** An issuer of workloads' tokens, whose keys are in a file. */
export class TestIssuer {
  readonly #keys: { readonly kid: string; readonly pair: KeyPair }[] = [];

  /** @param file with the JWKS */
  static async create(file?: string): Promise<TestIssuer> {
    const issuer = new TestIssuer();
    await issuer.addKey();
    if (file !== undefined) await issuer.publish(file);
    return issuer;
  }

  /** Signs the next tokens with another key. */
  async addKey(): Promise<void> {
    const pair = await generateKeyPair("ES256", { extractable: true });
    this.#keys.push({ kid: `key-${this.#keys.length + 1}`, pair });
  }

  async keySet(): Promise<{ keys: object[] }> {
    const keys = this.#keys.map(async ({ kid, pair }) => ({
      ...(await exportJWK(pair.publicKey)),
      kid,
      alg: "ES256",
      use: "sig",
    }));
    return { keys: await Promise.all(keys) };
  }

  async publish(file: string): Promise<void> {
    await writeFile(file, JSON.stringify(await this.keySet()));
  }

  /** Returns a token of a subject as Kubernetes issues it, valid for ten minutes. */
  async token(subject: string, { now, claims, without = [], kid }: TokenOptions): Promise<string> {
    const last = this.#keys.at(-1);
    if (last === undefined) throw new Error("no key");
    const seconds = Math.floor(now / 1000);
    const all: JWTPayload = {
      iss: ISSUER,
      aud: [AUDIENCE],
      sub: subject,
      iat: seconds,
      nbf: seconds,
      exp: seconds + 600,
      jti: crypto.randomUUID(),
      ...claims,
    };
    const kept = Object.entries(all).filter(([name]) => !without.includes(name));
    return new SignJWT(Object.fromEntries(kept))
      .setProtectedHeader({ alg: "ES256", kid: kid ?? last.kid })
      .sign(last.pair.privateKey);
  }
}

/** A vault server that trusts two issuers, for tests that add identities while it runs. */
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
    const issuers = [ISSUER, OTHER_ISSUER].map((each) => ({ issuer: each, keys: file }));
    const identities = { issuers, audiences: [audience] };
    const vault = await TestVault.start({ data: data.location, masterKey, identities });
    return new IdentityVault(vault, issuer, data, masterKey);
  }

  /** Lets a subject log in to an account. */
  add(subject: string, email: string, scope = scopeString(), issuer = ISSUER): Promise<void> {
    return this.#run("add", email, "--issuer", issuer, "--subject", subject, "--scope", scope);
  }

  remove(subject: string): Promise<void> {
    return this.#run("remove", "--issuer", ISSUER, "--subject", subject);
  }

  /** Runs `vaultsync vault identity` in another process: it waits for the writes of the server. */
  async #run(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await VaultsyncProcess.run(["vault", "identity", ...args], {
      env: {
        VAULTSYNC_VAULT_DATA: this.#data.location,
        VAULTSYNC_VAULT_MASTER_KEY: Buffer.from(this.#key.reveal()).toString("base64"),
      },
    });
    if (code !== 0) throw new Error(stderr);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.vault[Symbol.asyncDispose]();
    await this.#data[Symbol.asyncDispose]();
  }
}
