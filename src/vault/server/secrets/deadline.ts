import type { Secret } from "../store/records.ts";

const MINUTE_MS = 60_000;

/**
 * Returns the removal time of a secret: minutes from the request that sets it
 * (docs/design/vault-contract.md#removal-and-expiry).
 */
export function deadline(now: number, minutes: number): Pick<Secret, "deleteMinutes" | "deleteAt"> {
  return { deleteMinutes: minutes, deleteAt: now + minutes * MINUTE_MS };
}
