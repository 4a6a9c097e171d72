import type { SecretRecord } from "../../../src/protocol/responses.ts";

/** Returns a secret of ann@example.com as a list has it, with `changes`. */
export function listedSecret(key_name: string, changes: Partial<SecretRecord> = {}): SecretRecord {
  return {
    key_name,
    key_version: 1,
    owner: "ann@example.com",
    shared: false,
    permission: "RW",
    metadata: { environment_type: "dev", description: "n/a" },
    delete_time: 525_600_000,
    created_at: "2026-11-20T10:00:00.000Z",
    updated_at: "2026-11-20T10:00:00.000Z",
    expires_at: "2026-11-30T10:00:00.000Z",
    expired: false,
    delete_at: "3025-11-20T10:00:00.000Z",
    ...changes,
  };
}
