import type { VNode } from "preact";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { Timestamp } from "../../parts/timestamp.tsx";

/** A thousand years, what the service takes when none is given: nobody chose that. Source: the interface, "Secret". */
const UNSET_DELETE_MINUTES = 525_600_000;

export function hasDeadline({ delete_time }: SecretRecord): boolean {
  return delete_time < UNSET_DELETE_MINUTES;
}

/** When the version expires, or that it has, and when the secret is removed if somebody said so. */
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
