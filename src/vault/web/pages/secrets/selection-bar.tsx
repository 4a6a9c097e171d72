import type { ComponentChildren, VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import type { SecretRecord, TrashedRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { daysText, useTrashDays } from "../../parts/vault-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { type BatchProps, type BatchWork, BatchDialog, batchesOf } from "./batch-dialog.tsx";
import { RecentConsumers } from "../consumers/recent-consumers.tsx";
import { PermanentField, useDeletedToast } from "../deletion/trash-parts.tsx";
import { ManifestButton } from "../kubernetes/manifest-button.tsx";
import type { Selection } from "./use-selection.ts";
import {
  deleteSecrets,
  leaveSecret,
  shareSecrets,
  type Recipients,
} from "../../service/secrets.ts";
import { formText } from "../../parts/form.tsx";
import { useInvitation } from "../../parts/use-invitation.tsx";
import { readRecipients } from "./read-recipients.ts";
import { addressesOf, readPermission, RecipientFields } from "./recipient-fields.tsx";
import { useKnownUsers, useTeams } from "./use-known-users.ts";
import { secretCount } from "../../text/formats.ts";

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
function ShareSelectedDialog({ secrets, ...props }: BatchProps): VNode {
  const client = useClient();
  const { teams, follow } = useTeams();
  const known = useKnownUsers(teams);
  const invitation = useInvitation("share", known);
  const own = secrets.filter(({ owner }) => owner === client.email);
  const noun = own.length === 1 ? "secret" : "secrets";
  const read = (form: HTMLFormElement): Recipients => {
    try {
      return readRecipients(formText(form, "usr_id_to"), teams);
    } catch (error) {
      void follow(error);
      throw error;
    }
  };
  const prepare = (form: HTMLFormElement): BatchWork => {
    const recipients = read(form);
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
        const share = async (invite: boolean): Promise<void> => {
          invited ||= invite;
          try {
            await shareSecrets(client, names, recipients, { permission, invite });
          } catch (error) {
            await follow(error);
            throw error;
          }
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

interface SelectionBarProps {
  /** Secrets of the current page. */
  readonly page: readonly SecretRecord[];
  /** Secrets of all pages. */
  readonly matching: readonly SecretRecord[];
  readonly selection: Selection;
  readonly onChange: () => Promise<void>;
  /** Shown while nothing is selected. */
  readonly children: ComponentChildren;
}

/**
 * Selects the secrets of a page, and acts on all selected ones. It has the same height with and
 * without a selection.
 */
export function SelectionBar({
  page,
  matching,
  selection,
  onChange,
  children,
}: SelectionBarProps): VNode {
  const { email } = useClient();
  // With the secrets that were selected when it was opened: deleted ones leave the selection.
  const [open, setOpen] = useState<
    (Pick<BatchProps, "secrets"> & { readonly Dialog: typeof DeleteSelectedDialog }) | undefined
  >(undefined);
  const { secrets, has, set, clear } = selection;
  const chosen = page.filter(has).length;
  return (
    <>
      <div class="selection-bar">
        <label class="check">
          <input
            type="checkbox"
            checked={chosen > 0 && chosen === page.length}
            indeterminate={chosen > 0 && chosen < page.length}
            onChange={(event) => set(page, event.currentTarget.checked)}
          />
          <span class="visually-hidden">Select all on this page</span>
        </label>
        <p role="status">
          {secrets.length > 0 ? `${secrets.length} selected` : secretCount(matching.length)}
        </p>
        {chosen === page.length && chosen < matching.length && !matching.every(has) && (
          <button class="link-button" type="button" onClick={() => set(matching, true)}>
            Select all {matching.length}
          </button>
        )}
        {secrets.length === 0 ? (
          children
        ) : (
          <div class="buttons">
            {secrets.some(({ owner }) => owner === email) && (
              <button
                class="button"
                type="button"
                onClick={() => setOpen({ Dialog: ShareSelectedDialog, secrets })}
              >
                <Icon name="share" />
                <span class="button-text">Share</span>
              </button>
            )}
            <ManifestButton subject={{ kind: "secrets", secrets }} />
            <button
              class="button"
              type="button"
              onClick={() => setOpen({ Dialog: DeleteSelectedDialog, secrets })}
            >
              <Icon name="trash" />
              <span class="button-text">Delete</span>
            </button>
            <button class="button" type="button" onClick={clear}>
              Clear
            </button>
          </div>
        )}
      </div>
      {open && (
        <open.Dialog
          secrets={open.secrets}
          onChange={onChange}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

/** Secrets of one request: a stop takes effect after it. */
const MAX_DELETED = 100;

/**
 * Deletes the selected secrets that are the user's own, and removes the received ones from the
 * list.
 */
function DeleteSelectedDialog(props: BatchProps): VNode {
  const client = useClient();
  const days = useTrashDays();
  const [permanently, setPermanently] = useState(false);
  const trashed = useRef<readonly TrashedRecord[]>([]);
  const deleted = useDeletedToast(props.onChange);
  const { length } = props.secrets;
  // After a stop or a failure: what was deleted can be restored.
  const close = (): void => {
    const { current } = trashed;
    if (current.length > 0) deleted(`Deleted ${current.length} of ${length} ${noun}.`, current);
    props.onClose();
  };
  const report = (text: string): void => {
    deleted(text, trashed.current);
    trashed.current = [];
  };
  const isOwn = ({ owner }: SecretRecord): boolean => owner === client.email;
  const own = props.secrets.filter(isOwn);
  const noun = length === 1 ? "secret" : "secrets";
  const work: BatchWork = {
    split: (secrets) => [
      ...batchesOf(secrets.filter(isOwn), MAX_DELETED),
      ...batchesOf(
        secrets.filter((secret) => !isOwn(secret)),
        1,
      ),
    ],
    send: async (batch) => {
      const [first] = batch;
      if (first && !isOwn(first)) {
        await leaveSecret(client, first);
        return;
      }
      trashed.current = [...trashed.current, ...(await deleteSecrets(client, batch, permanently))];
    },
  };
  return (
    <BatchDialog
      {...props}
      onClose={close}
      report={report}
      title={`Delete ${length} ${noun}?`}
      confirm="Delete"
      variant="danger"
      plan={(secret) =>
        isOwn(secret) ? "all versions, for everyone" : `of ${secret.owner}: removed from your list`
      }
      outcome={(secret) => (isOwn(secret) ? "Deleted" : "Removed from your list")}
      prepare={() => work}
      tally={(done, rest) => `${done} of ${done + rest} deleted, ${rest} kept.`}
      done={`Deleted ${length} ${noun}.`}
    >
      <p>
        {days > 0 && !permanently
          ? `Your own secrets move to the trash for ${daysText(days)}.`
          : "This cannot be undone."}
      </p>
      {own.length > 0 && (
        <>
          <PermanentField checked={permanently} onChange={setPermanently} />
          <RecentConsumers kind="secret" names={own.map(({ key_name: name }) => name)} />
        </>
      )}
    </BatchDialog>
  );
}
