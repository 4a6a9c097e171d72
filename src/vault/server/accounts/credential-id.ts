/**
 * Hexadecimal digits of an id, 96 bits of the stored digest: enough to tell one user's tokens
 * apart, and of no use otherwise.
 */
const ID_LENGTH = 24;

/** Returns the id of a session or of a refresh token with its access tokens, from its digest. */
export function credentialId(digest: string): string {
  return digest.slice(0, ID_LENGTH);
}
