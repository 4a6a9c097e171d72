import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { ListedShare, TeamRecord } from "../../../../protocol/responses.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Pager } from "../../parts/pager.tsx";
import { permissionWords } from "../../parts/value-text.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { shareSecrets, unshareSecret, type Recipients } from "../../service/secrets.ts";
import { useSendsEmail } from "../../parts/vault-settings.ts";
import { useClient } from "../../session/client-context.ts";
import { PermissionField, readPermission } from "./recipient-fields.tsx";
import { readRecipients } from "./read-recipients.ts";

const PAGE_SIZE = 10;

/** @throws RequestError of `readRecipients` */
function recipientsOf({ kind, to }: ListedShare, teams: readonly TeamRecord[]): Recipients {
  return kind === "team" ? readRecipients(to, teams) : { kind: "people", to: [to] };
}

interface GrantDialogProps {
  readonly name: string;
  readonly share: ListedShare;
  /** Teams of the user. */
  readonly teams: readonly TeamRecord[];
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

function PermissionDialog({ name, share, teams, onChange, onClose }: GrantDialogProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const sendsEmail = useSendsEmail();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const permission = readPermission(form);
    if (permission !== share.permission) {
      await shareSecrets(client, [name], recipientsOf(share, teams), { permission, invite: true });
      toast(`Changed the permission of ${share.to}.`);
      await onChange();
    }
    onClose();
  };
  return (
    <Dialog title="Change permission" onClose={onClose}>
      <Form action={action} submit="Save" work={work} onCancel={onClose}>
        <p>
          <strong class="break">{share.to}</strong>
        </p>
        <PermissionField initial={share.permission} />
        {sendsEmail && share.state === "invited" && (
          <p class="hint">Pending users will receive another invitation email.</p>
        )}
      </Form>
    </Dialog>
  );
}

function StopDialog({ name, share, onChange, onClose }: GrantDialogProps): VNode {
  const client = useClient();
  const toast = useToast();
  const stop = async (): Promise<void> => {
    await unshareSecret(client, name, share);
    toast(`Stopped sharing with ${share.to}.`);
    await onChange();
  };
  return (
    <ConfirmDialog title="Stop sharing?" confirm="Stop sharing" work={stop} onClose={onClose}>
      <p>
        <strong class="break">{share.to}</strong> loses access immediately. The value may have been
        read: consider replacing it.
      </p>
    </ConfirmDialog>
  );
}

/** A share with a team is active when every other member is. */
const stateTexts = {
  person: { active: "Active", invited: "Invited" },
  team: { active: "Active", invited: "Some members not active" },
} as const;

const stateTitles = {
  person: {
    active: "Has an account and is logged in",
    invited: "No account yet, or not logged in at present",
  },
  team: {
    active: "All members are logged in",
    invited: "At least one member has no account yet, or is not logged in at present",
  },
} as const;

interface GrantItemProps {
  readonly share: ListedShare;
  readonly onChangePermission: () => void;
  readonly onStop: () => void;
}

function GrantItem({
  share: { to, kind, permission, state },
  onChangePermission,
  onStop,
}: GrantItemProps): VNode {
  return (
    <li>
      <div class="grant">
        <span class="break">{to}</span>
        <span class="badges">
          <span class="quiet">{kind === "person" ? "User" : "Team"}</span>
          <span class="badge">{permissionWords(permission)}</span>
          <span
            class={state === "active" ? "badge own" : "badge warn"}
            title={stateTitles[kind][state]}
          >
            {stateTexts[kind][state]}
          </span>
        </span>
      </div>
      <div class="grant-buttons">
        <button
          class="button"
          type="button"
          aria-label={`Change permission of ${to}`}
          onClick={onChangePermission}
        >
          Change
        </button>
        <button
          class="button icon-button"
          type="button"
          aria-label={`Stop sharing with ${to}`}
          title={`Stop sharing with ${to}`}
          onClick={onStop}
        >
          <Icon name="trash" />
        </button>
      </div>
    </li>
  );
}

interface GrantListProps {
  readonly name: string;
  readonly shares: readonly ListedShare[];
  readonly teams: readonly TeamRecord[];
  readonly onChange: () => Promise<void>;
}

/** Recipients of a secret, with buttons to change the permission and to stop sharing. */
export function GrantList({ name, shares, teams, onChange }: GrantListProps): VNode {
  const [wanted, setPage] = useState(0);
  const [open, setOpen] = useState<
    { readonly Dialog: typeof StopDialog; readonly share: ListedShare } | undefined
  >(undefined);
  // The last page may have become empty.
  const page = Math.max(0, Math.min(wanted, Math.ceil(shares.length / PAGE_SIZE) - 1));
  return (
    <>
      <ul class="grants" aria-label="Shared with">
        {shares.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE).map((share) => (
          <GrantItem
            key={`${share.kind} ${share.to}`}
            share={share}
            onChangePermission={() => setOpen({ Dialog: PermissionDialog, share })}
            onStop={() => setOpen({ Dialog: StopDialog, share })}
          />
        ))}
      </ul>
      {shares.length > PAGE_SIZE && (
        <Pager page={page} pageSize={PAGE_SIZE} total={shares.length} onPage={setPage} />
      )}
      {open && (
        <open.Dialog
          name={name}
          share={open.share}
          teams={teams}
          onChange={onChange}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  );
}
