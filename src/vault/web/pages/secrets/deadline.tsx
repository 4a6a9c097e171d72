import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Timestamp } from "../../parts/value-text.tsx";
import { exactTime } from "../../text/formats.ts";

/** Default `delete_time` of the vault, a thousand years in minutes: no deadline was chosen. */
export const UNSET_DELETE_MINUTES = 525_600_000;

/** Reports whether a time of deletion was chosen for the secret. */
export function hasDeadline({ delete_time }: SecretRecord): boolean {
  return delete_time < UNSET_DELETE_MINUTES;
}

/**
 * Shows when the secret is deleted, if a deadline was chosen, otherwise when the version expires.
 */
export function Deadlines({ secret }: { readonly secret: SecretRecord }): VNode {
  const deadline = hasDeadline(secret);
  return (
    <>
      {secret.expired && (
        <span class="badge bad" title={exactTime(secret.expires_at)}>
          Expired
        </span>
      )}
      {!secret.expired && !deadline && <Timestamp at={secret.expires_at} />}
      {deadline && (
        <span class="badge warn">
          Deleted <Timestamp at={secret.delete_at} short />
        </span>
      )}
    </>
  );
}
