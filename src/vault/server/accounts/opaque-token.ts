import { hash, randomBytes } from "node:crypto";

/** Returns a random 256-bit token. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** Returns the digest of a token, the only form in which it is stored. */
export function tokenDigest(token: string): string {
  return hash("sha256", token);
}
