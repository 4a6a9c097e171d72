import type { SecretRecord, Consumer } from "../../../src/operator/vault-client/connection.ts";

/** A resource that values are read for. */
export const CONSUMER: Consumer = { namespace: "shop", kind: "VaultSecret", name: "db" };

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
