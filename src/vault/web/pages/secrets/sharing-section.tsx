import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import type { SecretRecord, TeamRecord } from "../../../../protocol/responses.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { LoadedView, useLoaded } from "../../parts/loaded-view.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { listShares, unshareSecret, shareSecrets, type Recipients } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { GrantList } from "./grant-list.tsx";
import { linkOf } from "../../routing/route.ts";
import { useKnownUsers, useTeams } from "./use-known-users.ts";
import { Form, formText } from "../../parts/form.tsx";
import { useAction } from "../../parts/use-action.ts";
import { useInvitation } from "../../parts/use-invitation.tsx";
import { readRecipients } from "./read-recipients.ts";
import { addressesOf, readPermission, RecipientFields } from "./recipient-fields.tsx";

interface ShareFormProps {
  readonly name: string;
  readonly teams: readonly TeamRecord[];
  /** Users who have an account: they are not asked about. */
  readonly known: ReadonlySet<string>;
  readonly onShared: () => Promise<void>;
  /** Receives why sharing failed. */
  readonly onFailed: (error: unknown) => Promise<void>;
}

function toText({ to }: Recipients): string {
  if (typeof to === "string") return to;
  return to.length === 1 ? to.join("") : `${to.length} users`;
}

/** Shares a secret, or changes the permission of a recipient. */
function ShareForm({ name, teams, known, onShared, onFailed }: ShareFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const invitation = useInvitation("share", known);
  // The fields of the next share know the team that this one has accepted.
  const [round, setRound] = useState(0);
  const share = async (form: HTMLFormElement): Promise<Recipients> => {
    try {
      const recipients = readRecipients(formText(form, "usr_id_to"), teams);
      const permission = readPermission(form);
      await invitation.send(
        (invite) => shareSecrets(client, [name], recipients, { permission, invite }),
        addressesOf(recipients, teams),
      );
      return recipients;
    } catch (error) {
      await onFailed(error);
      throw error;
    }
  };
  const work = async (form: HTMLFormElement): Promise<void> => {
    const recipients = await share(form);
    form.reset();
    setRound(round + 1);
    toast(`Shared with ${toText(recipients)}.`);
    await onShared();
  };
  return (
    <>
      <Form action={action} submit="Share" icon="share" work={work}>
        <RecipientFields key={round} teams={teams} known={known} failure={action.failure} />
      </Form>
      {invitation.question}
    </>
  );
}

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
        <ConfirmDialog
          title="Stop sharing?"
          confirm="Stop sharing"
          work={stop}
          onClose={() => setConfirming(false)}
        >
          <p>
            All users and teams lose access immediately. They may have read the value: consider
            replacing it.
          </p>
        </ConfirmDialog>
      )}
    </div>
  );
}

/** Link for recipients who may only write, because the secret is in none of their lists. */
function WriteOnlyLink({
  secret: { owner, key_name: name },
}: Pick<SharingSectionProps, "secret">): VNode {
  return (
    <div class="note write-only-link">
      <Icon name="warning" />
      <div class="stack">
        <p>
          Recipients with write access only do not see the secret in their list. Send them the link
          to this page.
        </p>
        <CopyButton what="link for recipients" text={linkOf(owner, name)} />
      </div>
    </div>
  );
}

/** Shares an own secret with users and teams. */
export function SharingSection({ secret, onChange }: SharingSectionProps): VNode {
  const client = useClient();
  // Reloads with every new record of the secret: each change of the shares reloads the secrets.
  const shares = useLoaded(
    useCallback(() => listShares(client, secret.key_name), [client, secret]),
  );
  const { teams, follow } = useTeams();
  const known = useKnownUsers(teams, shares.loaded.kind === "ready" ? shares.loaded.value : []);
  return (
    <section class="card" aria-labelledby="sharing-title">
      <h2 id="sharing-title">Sharing</h2>
      <ShareForm
        name={secret.key_name}
        teams={teams}
        known={known}
        onShared={onChange}
        onFailed={follow}
      />
      <LoadedView of={shares} what="shares">
        {(list) =>
          list.length === 0 ? (
            <p class="quiet">Only you have access.</p>
          ) : (
            <>
              {list.some(({ permission }) => permission === "W") && (
                <WriteOnlyLink secret={secret} />
              )}
              <h3>Shared with</h3>
              <GrantList name={secret.key_name} shares={list} teams={teams} onChange={onChange} />
            </>
          )
        }
      </LoadedView>
      {secret.shared && <StopSharing secret={secret} onChange={onChange} />}
    </section>
  );
}
