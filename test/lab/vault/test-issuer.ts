import { writeFile } from "node:fs/promises";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";

/** Issuer and audience of tokens that a test says nothing else about. */
export const ISSUER = "https://kubernetes.example.com";
export const AUDIENCE = "https://vault.example.com";

/** Returns the subject of a ServiceAccount. */
export const serviceAccount = (namespace: string, name = "vaultsync"): string =>
  `system:serviceaccount:${namespace}:${name}`;

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

export interface TokenOptions {
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
