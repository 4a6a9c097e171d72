import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView, type Loading } from "../../parts/loaded-view.tsx";
import { Pager } from "../../parts/pager.tsx";
import { type Credential, revokeAll, revokeCredential } from "../../service/account-settings.ts";
import type { VaultClient } from "../../service/vault-client.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useClient } from "../../session/client-context.ts";
import { Timestamp } from "../../parts/value-text.tsx";
import { scopeText } from "../../text/scope-text.ts";

/** Returns the name that the user or the browser gave it. */
function credentialName({ kind, name }: Credential): string {
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
function CredentialItem({ credential, onEnd }: CredentialItemProps): VNode {
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

/** Sessions or tokens to end: one, or all of a kind but the current one. */
type Ending =
  | { readonly what: "one"; readonly credential: Credential }
  | { readonly what: "all"; readonly kind: Credential["kind"] };

interface Words {
  readonly title: string;
  readonly confirm: string;
  readonly effect: string;
  /** Ends them. Returns the message. */
  readonly end: () => Promise<string>;
}

function wordsOfOne(client: VaultClient, credential: Credential): Words {
  const name = credentialName(credential);
  const end = async (done: string): Promise<string> => {
    await revokeCredential(client, credential.id);
    return `${done} ${name}.`;
  };
  return credential.kind === "token"
    ? {
        title: `Revoke “${name}”?`,
        confirm: "Revoke",
        effect: "Programs that use it are rejected immediately and need another token.",
        end: () => end("Revoked"),
      }
    : {
        title: `Log out “${name}”?`,
        confirm: "Log out",
        effect: "It has to log in again.",
        end: () => end("Logged out"),
      };
}

function wordsOfAll(client: VaultClient, kind: Credential["kind"]): Words {
  const end = async (done: string, noun: string): Promise<string> => {
    const count = await revokeAll(client, kind);
    return `${done} ${count} ${count === 1 ? noun : `${noun}s`}.`;
  };
  return kind === "token"
    ? {
        title: "Revoke all API tokens?",
        confirm: "Revoke all",
        effect: "Programs that use them are rejected immediately.",
        end: () => end("Revoked", "API token"),
      }
    : {
        title: "Log out all other browsers?",
        confirm: "Log out all others",
        effect: "They have to log in again.",
        end: () => end("Logged out", "browser"),
      };
}

interface EndCredentialsDialogProps {
  readonly ending: Ending;
  readonly onEnded: () => Promise<void>;
  readonly onClose: () => void;
}

/** Ends sessions or API tokens after a question. */
function EndCredentialsDialog({ ending, onEnded, onClose }: EndCredentialsDialogProps): VNode {
  const client = useClient();
  const toast = useToast();
  const { title, confirm, effect, end } =
    ending.what === "one" ? wordsOfOne(client, ending.credential) : wordsOfAll(client, ending.kind);
  const work = async (): Promise<void> => {
    toast(await end());
    await onEnded();
  };
  return (
    <ConfirmDialog title={title} confirm={confirm} work={work} onClose={onClose}>
      <p>{effect}</p>
    </ConfirmDialog>
  );
}

const PAGE_SIZE = 6;

const words = {
  session: {
    title: "Sessions",
    lead: "Browsers that are logged in as you. Log out what you do not recognize, and change your password.",
    all: "Log out all others",
    none: "",
  },
  token: {
    title: "API tokens",
    lead: "Programs that act as you, and what they can access. Revoke what you do not recognize or no longer need.",
    all: "Revoke all",
    none: "No API tokens.",
  },
} as const;

/** Returns the sessions or the tokens, the current one first. */
function ofKind(list: readonly Credential[], kind: Credential["kind"]): Credential[] {
  return list
    .filter((each) => each.kind === kind)
    .sort((one, other) => Number(other.current) - Number(one.current));
}

interface CredentialListProps {
  readonly kind: Credential["kind"];
  readonly list: readonly Credential[];
  readonly onEnd: (ending: Ending) => void;
}

function CredentialList({ kind, list, onEnd }: CredentialListProps): VNode {
  const [wanted, setPage] = useState(0);
  const { title, all, none } = words[kind];
  const others = list.filter(({ current }) => !current);
  const page = Math.max(0, Math.min(wanted, Math.ceil(list.length / PAGE_SIZE) - 1));
  if (list.length === 0) return <p class="quiet">{none}</p>;
  return (
    <>
      <ul class="grants" aria-label={title}>
        {list.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE).map((credential) => (
          <CredentialItem
            key={credential.id}
            credential={credential}
            onEnd={() => onEnd({ what: "one", credential })}
          />
        ))}
      </ul>
      {list.length > PAGE_SIZE && (
        <Pager page={page} pageSize={PAGE_SIZE} total={list.length} onPage={setPage} />
      )}
      {others.length > 1 && (
        <div class="buttons">
          <button class="button" type="button" onClick={() => onEnd({ what: "all", kind })}>
            <Icon name="out" />
            {all}
          </button>
        </div>
      )}
    </>
  );
}

interface CredentialsSectionProps {
  readonly kind: Credential["kind"];
  readonly credentials: Loading<readonly Credential[]>;
}

/** Lists the sessions or the API tokens of the account, and ends them. */
export function CredentialsSection({ kind, credentials }: CredentialsSectionProps): VNode {
  const [ending, setEnding] = useState<Ending | undefined>(undefined);
  const { title, lead } = words[kind];
  return (
    <section class="card" aria-labelledby={`${kind}s-title`}>
      <h2 id={`${kind}s-title`}>{title}</h2>
      <p class="quiet">{lead}</p>
      <LoadedView of={credentials} what={title}>
        {(list) => <CredentialList kind={kind} list={ofKind(list, kind)} onEnd={setEnding} />}
      </LoadedView>
      {ending && (
        <EndCredentialsDialog
          ending={ending}
          onEnded={credentials.reload}
          onClose={() => setEnding(undefined)}
        />
      )}
    </section>
  );
}
