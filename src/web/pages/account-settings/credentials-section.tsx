import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView } from "../../parts/loaded-view.tsx";
import { Pager } from "../../parts/pager.tsx";
import { Timestamp } from "../../parts/timestamp.tsx";
import { useToast } from "../../parts/toasts.tsx";
import type { Loading } from "../../parts/use-loaded.ts";
import { revokeCredentials, type Credential } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { scopeText } from "../../text/scope-text.ts";

const PAGE_SIZE = 10;

function nameOf({ kind, current }: Credential): string {
  if (kind === "session") return current ? "This browser session" : "Browser session";
  return "API token";
}

function CredentialItem({ credential, onEnd }: { readonly credential: Credential; readonly onEnd: () => void }): VNode {
  const { id, scope, created_at: created, last_used_at: used, expires_at: expires, current } = credential;
  const label = `End ${nameOf(credential).toLowerCase()} ${id.slice(0, 6)}`;
  return (
    <li>
      <div class="grant">
        <span class="credential-name">
          {nameOf(credential)} <code class="quiet">{id.slice(0, 6)}</code>
        </span>
        <span class="badges">
          {current && <span class="badge own">Current</span>}
          <span class="quiet">
            Created <Timestamp at={created} />
          </span>
          <span class="quiet">
            Used <Timestamp at={used} />
          </span>
          <span class="quiet">
            Expires <Timestamp at={expires} />
          </span>
        </span>
        <span class="quiet break">{scopeText(scope)}</span>
      </div>
      {!current && (
        <button class="button icon-button" type="button" aria-label={label} title={label} onClick={onEnd}>
          <Icon name="trash" />
        </button>
      )}
    </li>
  );
}

interface EndDialogProps {
  readonly ending: readonly Credential[];
  readonly onEnded: () => Promise<void>;
  readonly onClose: () => void;
}

function EndDialog({ ending, onEnded, onClose }: EndDialogProps): VNode {
  const client = useClient();
  const toast = useToast();
  const [first] = ending;
  const one = ending.length === 1 && first ? nameOf(first) : undefined;
  const end = async (): Promise<void> => {
    await revokeCredentials(
      client,
      ending.map(({ id }) => id),
    );
    toast(one === undefined ? `Ended ${ending.length} sessions and tokens.` : `Ended ${one.toLowerCase()}.`);
    await onEnded();
  };
  return (
    <ConfirmDialog
      title={one === undefined ? "End all others?" : `End ${one.toLowerCase()}?`}
      confirm={one === undefined ? "End all others" : "End"}
      work={end}
      onClose={onClose}
    >
      <p>
        {first?.kind === "session" && one !== undefined
          ? "The browser has to log in again."
          : "Programs and browsers that use them lose access immediately and have to log in again."}
      </p>
    </ConfirmDialog>
  );
}

/** Lists the sessions and tokens of the account, and ends them. The current session ends by logging out. */
export function CredentialsSection({ credentials }: { readonly credentials: Loading<readonly Credential[]> }): VNode {
  const [wanted, setPage] = useState(0);
  const [ending, setEnding] = useState<readonly Credential[] | undefined>(undefined);
  return (
    <section class="card" aria-labelledby="credentials-title">
      <h2 id="credentials-title">Sessions and tokens</h2>
      <p class="quiet">Everything that can act as you. End what you do not recognize, and change your password.</p>
      <LoadedView of={credentials} what="sessions and tokens">
        {(list) => {
          const others = list.filter(({ current }) => !current);
          const page = Math.max(0, Math.min(wanted, Math.ceil(list.length / PAGE_SIZE) - 1));
          return (
            <>
              <ul class="grants" aria-label="Sessions and tokens">
                {list.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE).map((credential) => (
                  <CredentialItem key={credential.id} credential={credential} onEnd={() => setEnding([credential])} />
                ))}
              </ul>
              {list.length > PAGE_SIZE && <Pager page={page} pageSize={PAGE_SIZE} total={list.length} onPage={setPage} />}
              {others.length > 1 && (
                <div class="buttons">
                  <button class="button danger" type="button" onClick={() => setEnding(others)}>
                    <Icon name="out" />
                    End all others
                  </button>
                </div>
              )}
            </>
          );
        }}
      </LoadedView>
      {ending && <EndDialog ending={ending} onEnded={credentials.reload} onClose={() => setEnding(undefined)} />}
    </section>
  );
}
