import type { VNode } from "preact";
import { useCallback } from "preact/hooks";
import { formText } from "../../parts/form.tsx";
import { useLoaded } from "../../parts/loaded-view.tsx";
import { useInvitation } from "../../parts/use-invitation.tsx";
import { shareSecrets } from "../../service/secrets.ts";
import { listTeams } from "../../service/teams.ts";
import { useClient } from "../../session/client-context.ts";
import { BatchDialog, batchesOf, type BatchProps, type BatchWork } from "./batch-dialog.tsx";
import { readRecipients } from "./read-recipients.ts";
import { addressesOf, readPermission, RecipientFields } from "./recipient-fields.tsx";
import { useKnownUsers } from "./use-known-users.ts";

/** Shares of one request: docs/design/vault-contract.md#limits. */
const MAX_SHARES = 200;
/** Secrets of one request: a stop takes effect after it. */
const MAX_NAMES = 100;

function notOwnText(count: number): string {
  return count === 1
    ? "1 selected secret has another owner and is not shared."
    : `${count} selected secrets have other owners and are not shared.`;
}

/**
 * Shares the selected secrets that are the user's own with the same recipients. The dialog says
 * that other secrets cannot be shared.
 */
export function ShareSelectedDialog({ secrets, ...props }: BatchProps): VNode {
  const client = useClient();
  const { loaded } = useLoaded(useCallback(() => listTeams(client), [client]));
  const teams = loaded.kind === "ready" ? loaded.value : [];
  const known = useKnownUsers(teams);
  const invitation = useInvitation("share", known);
  const own = secrets.filter(({ owner }) => owner === client.email);
  const noun = own.length === 1 ? "secret" : "secrets";
  const prepare = (form: HTMLFormElement): BatchWork => {
    const recipients = readRecipients(formText(form, "usr_id_to"));
    const permission = readPermission(form);
    const addresses = addressesOf(recipients, teams);
    const size =
      recipients.kind === "team"
        ? MAX_NAMES
        : Math.min(MAX_NAMES, Math.floor(MAX_SHARES / recipients.to.length));
    let invited = false;
    return {
      split: (batch) => batchesOf(batch, size),
      send: async (batch) => {
        const names = batch.map(({ key_name: name }) => name);
        const share = (invite: boolean): Promise<void> => {
          invited ||= invite;
          return shareSecrets(client, names, recipients, { permission, invite });
        };
        // One decision counts for the whole selection.
        if (invited) await share(true);
        else await invitation.send(share, addresses);
      },
    };
  };
  return (
    <>
      <BatchDialog
        {...props}
        secrets={own}
        title={`Share ${own.length} ${noun}`}
        confirm="Share"
        variant="primary"
        plan={({ shared }) => (shared ? "shared already" : "not shared")}
        outcome={() => "Shared"}
        prepare={prepare}
        tally={(done, rest) => `${done} of ${done + rest} shared, ${rest} not.`}
        done={`Shared ${own.length} ${noun}.`}
      >
        {own.length < secrets.length && (
          <p class="note">{notOwnText(secrets.length - own.length)}</p>
        )}
        <RecipientFields teams={teams} known={known} failure={undefined} />
      </BatchDialog>
      {invitation.question}
    </>
  );
}
