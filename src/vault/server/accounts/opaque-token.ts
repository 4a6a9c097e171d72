import { hash, randomBytes } from "node:crypto";

/** Returns a random 256-bit token. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Returns the digest of a token, the only form in which it is stored. */
export function tokenDigest(token: string): string {
  return hash("sha256", token);
}

/**
 * Hexadecimal digits of an id, 96 bits of the stored digest: enough to tell one user's tokens
 * apart, and of no use otherwise.
 */
const ID_LENGTH = 24;

/** Returns the id of a session or of a refresh token with its access tokens, from its digest. */
export function credentialId(digest: string): string {
  return digest.slice(0, ID_LENGTH);
}
