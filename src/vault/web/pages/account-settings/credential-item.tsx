import type { VNode } from "preact";
import { Icon } from "../../parts/icon.tsx";
import { Timestamp } from "../../parts/value-text.tsx";
import type { Credential } from "../../service/account-settings.ts";
import { scopeText } from "../../text/scope-text.ts";

/** Returns the name that the user or the browser gave it. */
export function credentialName({ kind, name }: Credential): string {
  if (name !== "") return name;
  return kind === "session" ? "Browser" : "API token";
}

interface CredentialItemProps {
  readonly credential: Credential;
  readonly onEnd: () => void;
}

/**
 * One session or API token, with a button that ends it. The current session ends by logging out.
 */
export function CredentialItem({ credential, onEnd }: CredentialItemProps): VNode {
  const {
    id,
    kind,
    scope,
    created_at,
    last_used_at,
    expires_at,
    refreshable_until,
    allowed_networks,
    ends_at,
    current,
  } = credential;
  const name = credentialName(credential);
  const label = `${kind === "session" ? "Log out" : "Revoke"} ${name}`;
  return (
    <li>
      <div class="grant">
        <span class="badges">
          <bdi class="credential-name break">{name}</bdi>
          {current && <span class="badge own">This browser</span>}
          {kind === "token" && <span class="badge">{scopeText(scope)}</span>}
          {allowed_networks !== undefined && (
            <span class="badge">Only from {allowed_networks.join(", ")}</span>
          )}
        </span>
        <span class="credential-times quiet">
          <span>
            Created <Timestamp at={created_at} />
          </span>
          <span>
            Last used <Timestamp at={last_used_at} />
          </span>
          <span>
            Expires <Timestamp at={expires_at} />
          </span>
          {refreshable_until !== undefined && (
            <span>
              Refresh token expires <Timestamp at={refreshable_until} />
            </span>
          )}
          {ends_at !== undefined && (
            <span>
              Ends <Timestamp at={ends_at} />
            </span>
          )}
        </span>
      </div>
      {!current && (
        <button
          class="button"
          type="button"
          aria-label={label}
          title={`${label} (${id.slice(0, 6)})`}
          onClick={onEnd}
        >
          <Icon name={kind === "session" ? "out" : "trash"} />
          {kind === "session" ? "Log out" : "Revoke"}
        </button>
      )}
    </li>
  );
}
