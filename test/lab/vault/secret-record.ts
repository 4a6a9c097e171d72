import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";

/**
 * Returns a record of a list with `changes`: version 1 of the secret `a`, without deadlines and
 * metadata.
 */
export function secretRecord(changes: Partial<SecretRecord> = {}): SecretRecord {
  return {
    name: "a",
    owner: undefined,
    version: 1,
    shared: undefined,
    metadata: {},
    expiresAt: undefined,
    deleteAt: undefined,
    ...changes,
  };
}
