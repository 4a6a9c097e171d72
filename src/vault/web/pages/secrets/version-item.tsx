import type { VNode } from "preact";
import type { VersionRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import { useClient } from "../../session/client-context.ts";
import { SecretValue } from "./secret-value.tsx";

interface VersionItemProps {
  readonly version: VersionRecord;
  readonly latest: boolean;
  /** Undefined when the user may not write, and for the latest version. */
  readonly onMakeCurrent: (() => void) | undefined;
  /** Asks for confirmation and deletes this version. Undefined when deletion is not allowed. */
  readonly onDelete: (() => void) | undefined;
}

function Author({ email }: { readonly email: string | undefined }): VNode | null {
  const client = useClient();
  if (email === undefined) return null;
  return <span class="break"> by {email === client.email ? "you" : email}</span>;
}

/** One version with its author, its dates and, on request, its value. */
export function VersionItem({ version, latest, onMakeCurrent, onDelete }: VersionItemProps): VNode {
  const number = version.key_version;
  return (
    <li class="version">
      <div class="version-head">
        <div class="version-title">
          <h3>
            Version {number} {latest && <span class="badge own">Latest</span>}
          </h3>
          <p class="quiet">
            Created <Timestamp at={version.created_at} />
            <Author email={version.created_by} />, {version.expired ? "expired" : "expires"}{" "}
            <Timestamp at={version.expires_at} />
          </p>
        </div>
        {onDelete && (
          <button
            class="button icon-button"
            type="button"
            aria-label={`Delete version ${number}`}
            title={`Delete version ${number}`}
            onClick={onDelete}
          >
            <Icon name="trash" />
          </button>
        )}
      </div>
      <SecretValue access={version} version={number}>
        {onMakeCurrent && (
          <button
            class="button"
            type="button"
            aria-label={`Make current: version ${number}`}
            onClick={onMakeCurrent}
          >
            Make current
          </button>
        )}
      </SecretValue>
    </li>
  );
}
