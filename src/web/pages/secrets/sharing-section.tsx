import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView } from "../../parts/loaded-view.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useLoaded } from "../../parts/use-loaded.ts";
import { listShares, unshareSecret } from "../../service/secrets.ts";
import { listTeams } from "../../service/teams.ts";
import { useClient } from "../../session/client-context.ts";
import { GrantList } from "./grant-list.tsx";
import { ShareForm } from "./share-form.tsx";

interface SharingSectionProps {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}

function StopSharing({ secret, onChange }: SharingSectionProps): VNode {
  const client = useClient();
  const toast = useToast();
  const [confirming, setConfirming] = useState(false);
  const stop = async (): Promise<void> => {
    const { length } = await unshareSecret(client, secret.key_name);
    toast(`Stopped sharing with ${length} ${length === 1 ? "recipient" : "recipients"}.`);
    await onChange();
  };
  return (
    <div class="unshare">
      <button class="button" type="button" onClick={() => setConfirming(true)}>
        <Icon name="eye-off" />
        Stop sharing with everyone
      </button>
      {confirming && (
        <ConfirmDialog title="Stop sharing?" confirm="Stop sharing" work={stop} onClose={() => setConfirming(false)}>
          <p>All users and teams lose access immediately. They may have read the value: consider replacing it.</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

/** Shares an own secret with users and teams. */
export function SharingSection({ secret, onChange }: SharingSectionProps): VNode {
  const client = useClient();
  // Reloads with every new record of the secret: each change of the shares reloads the secrets.
  const shares = useLoaded(useCallback(() => listShares(client, secret.key_name), [client, secret]));
  const { loaded } = useLoaded(useCallback(() => listTeams(client), [client]));
  const teams = loaded.kind === "ready" ? loaded.value.map(({ group_id }) => group_id) : [];
  return (
    <section class="card" aria-labelledby="sharing-title">
      <h2 id="sharing-title">Sharing</h2>
      <LoadedView of={shares} what="shares">
        {(list) =>
          list.length === 0 ? (
            <p class="quiet">Only you have access.</p>
          ) : (
            <GrantList name={secret.key_name} shares={list} onChange={onChange} />
          )
        }
      </LoadedView>
      <datalist id="team-names">
        {teams.map((team) => (
          <option key={team} value={team} />
        ))}
      </datalist>
      <ShareForm name={secret.key_name} teams={teams} onShared={onChange} />
      {secret.shared && <StopSharing secret={secret} onChange={onChange} />}
    </section>
  );
}
