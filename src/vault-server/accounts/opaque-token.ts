import { createHash, randomBytes } from "node:crypto";

/** A new 256-bit token. Source: the vault contract, "Tokens". */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** The only form in which a token is kept. */
export function tokenDigest(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}
