import type { VNode } from "preact";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { Timestamp } from "../../parts/timestamp.tsx";

/** Default `delete_time` of the vault, a thousand years in minutes: no deadline was chosen. */
export const UNSET_DELETE_MINUTES = 525_600_000;

/** Reports whether a time of deletion was chosen for the secret. */
export function hasDeadline({ delete_time }: SecretRecord): boolean {
  return delete_time < UNSET_DELETE_MINUTES;
}

/** Shows when the version expires and, if a deadline was chosen, when the secret is deleted. */
export function Deadlines({ secret }: { readonly secret: SecretRecord }): VNode {
  return (
    <>
      <span class={secret.expired ? "badge bad" : "quiet"}>
        {secret.expired ? "Expired " : ""}
        <Timestamp at={secret.expires_at} />
      </span>
      {hasDeadline(secret) && (
        <span class="badge warn">
          Deleted <Timestamp at={secret.delete_at} />
        </span>
      )}
    </>
  );
}
