import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { SecretRecord, ShareRecord } from "../../../protocol/answers.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { permissionWords } from "../../parts/permission-badge.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { unshareSecret } from "../../service/secrets.ts";
import { listTeams } from "../../service/teams.ts";
import { useClient } from "../../session/client-context.ts";
import { ShareForm } from "./share-form.tsx";
import { UnshareForm } from "./unshare-form.tsx";

interface SharingSectionProps {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}

/** What was just shared: the service tells the state of a share in its answer, and nowhere else. */
function JustShared({ grants }: { readonly grants: readonly ShareRecord[] }): VNode {
  return (
    <ul class="grants" aria-label="Shared just now">
      {grants.map(({ to, permission, state }) => (
        <li key={to}>
          <span class="break">{to}</span>
          <span class="badges">
            <span class="badge">{permissionWords(permission)}</span>
            <span class={state === "active" ? "badge own" : "badge warn"}>
              {state === "active" ? "Active" : "Invited by mail"}
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function StopSharing({ secret, onChange }: SharingSectionProps): VNode {
  const client = useClient();
  const toast = useToast();
  const [asking, setAsking] = useState(false);
  const stop = async (): Promise<void> => {
    const { length } = await unshareSecret(client, secret.key_name);
    toast(`Taken back from ${length === 1 ? "the one" : `all ${length}`} it was shared with.`);
    await onChange();
  };
  return (
    <>
      <button class="button" type="button" onClick={() => setAsking(true)}>
        <Icon name="eye-off" />
        Stop sharing with everybody
      </button>
      {asking && (
        <ConfirmDialog title="Stop sharing?" confirm="Stop sharing" work={stop} onClose={() => setAsking(false)}>
          <p>All people and teams lose it at once. What they have already read, they know: consider a new value too.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** Sharing of one's own secret with people and teams. */
export function SharingSection({ secret, onChange }: SharingSectionProps): VNode {
  const client = useClient();
  const [grants, setGrants] = useState<readonly ShareRecord[]>([]);
  const { loaded } = useLoaded(useCallback(() => listTeams(client), [client]));
  const teams = loaded.kind === "ready" ? loaded.value.map(({ group_id }) => group_id) : [];
  const onShared = async (shared: readonly ShareRecord[]): Promise<void> => {
    setGrants((known) => [...known.filter(({ to }) => !shared.some((fresh) => fresh.to === to)), ...shared]);
    await onChange();
  };
  const onUnshared = async (from: readonly string[]): Promise<void> => {
    setGrants((known) => known.filter(({ to }) => !from.includes(to)));
    await onChange();
  };
  const stopAll = async (): Promise<void> => {
    setGrants([]);
    await onChange();
  };
  return (
    <section class="card" aria-labelledby="sharing-title">
      <h2 id="sharing-title">Sharing</h2>
      <p class="quiet">{secret.shared ? "This secret is shared." : "Only you have this secret."}</p>
      <datalist id="team-names">
        {teams.map((team) => (
          <option key={team} value={team} />
        ))}
      </datalist>
      <ShareForm name={secret.key_name} teams={teams} onShared={onShared} />
      {grants.length > 0 && <JustShared grants={grants} />}
      {secret.shared && (
        <div class="unshare">
          <UnshareForm name={secret.key_name} teams={teams} onUnshared={onUnshared} />
          <StopSharing secret={secret} onChange={stopAll} />
        </div>
      )}
    </section>
  );
}
