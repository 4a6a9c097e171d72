import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { PermissionBadge } from "../../parts/permission-badge.tsx";
import { Timestamp } from "../../parts/timestamp.tsx";
import { hasDeadline } from "./deadline.tsx";

/** Line below the title of a secret's page. */
export function SecretFacts({
  secret,
  own,
}: {
  readonly secret: SecretRecord;
  readonly own: boolean;
}): VNode {
  return (
    <p class="badges secret-facts">
      <PermissionBadge permission={secret.permission} own={own} />
      {own && secret.shared && <span class="badge">Shared</span>}
      {!own && <span class="break">from {secret.owner}</span>}
      <span class="quiet">Version {secret.key_version}</span>
      <span class={secret.expired ? "badge bad" : "quiet"}>
        {secret.expired ? "Expired" : "Expires"} <Timestamp at={secret.expires_at} />
      </span>
      {hasDeadline(secret) && (
        <span class="badge warn">
          Deleted <Timestamp at={secret.delete_at} />
        </span>
      )}
    </p>
  );
}
