import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SecretRecord, TrashedRecord } from "../../../../protocol/responses.ts";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { NameText } from "../../parts/value-text.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { daysText, useTrashDays } from "../../parts/vault-settings.ts";
import { useShown } from "../../parts/use-action.ts";
import { replaceRoute } from "../../routing/use-route.ts";
import { toRequestError } from "../../service/request-error.ts";
import { deleteSecrets, leaveSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/visible-text.ts";
import { RecentConsumers } from "../consumers/recent-consumers.tsx";
import { PermanentField, useDeletedToast } from "../deletion/trash-parts.tsx";
import { RemovalSchedule } from "./removal-schedule.tsx";
import { useSecrets } from "./secrets-context.ts";
import { blockSender } from "../../service/account-settings.ts";

interface BlockSenderProps {
  readonly sender: string;
  readonly onChange: () => Promise<void>;
}

/** Button that hides everything one sender shares. */
function BlockSender({ sender, onChange }: BlockSenderProps): VNode {
  const client = useClient();
  const toast = useToast();
  const isShown = useShown();
  const [confirming, setConfirming] = useState(false);
  const block = async (): Promise<void> => {
    await blockSender(client, sender);
    toast(`Blocked ${sender}.`);
    if (isShown()) replaceRoute({ page: "secrets" });
    await onChange();
  };
  return (
    <>
      <button class="button" type="button" onClick={() => setConfirming(true)}>
        <Icon name="block" />
        Block sender
      </button>
      {confirming && (
        <ConfirmDialog
          title="Block sender?"
          confirm="Block sender"
          work={block}
          onClose={() => setConfirming(false)}
        >
          <p>
            Everything that <strong class="break">{sender}</strong> shares with you disappears from
            your list, now and later. They are not notified. You can unblock them on the account
            page.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** Deletes an own secret, now or later, or removes a received one from the list. */
export function RemovalSection({
  secret,
  onChange,
}: {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}): VNode {
  const client = useClient();
  const toast = useToast();
  const isShown = useShown();
  const { list } = useSecrets();
  const days = useTrashDays();
  const report = useDeletedToast(list.reload);
  const [confirming, setConfirming] = useState(false);
  const [permanently, setPermanently] = useState(false);
  const { key_name: name } = secret;
  const own = secret.owner === client.email;
  const label = own ? "Delete secret" : "Remove from my list";
  const ownText =
    days > 0 && !permanently
      ? `and all its versions move to the trash for ${daysText(days)}.`
      : "and all its versions cannot be restored.";
  const deleteOwn = async (): Promise<readonly TrashedRecord[]> => {
    try {
      return await deleteSecrets(client, [secret], permanently);
    } catch (error) {
      // The user decides again with the latest version.
      if (toRequestError(error).code === "version_changed") await onChange();
      throw error;
    }
  };
  const remove = async (): Promise<void> => {
    const short = shortened(name);
    if (own) report(`Deleted ${short}.`, await deleteOwn());
    else {
      await leaveSecret(client, secret);
      toast(`Removed ${short} from your list.`);
    }
    if (isShown()) replaceRoute({ page: "secrets" });
    await list.reload();
  };
  return (
    <section class="card" aria-labelledby="removal-title">
      <h2 id="removal-title">{own ? "Delete" : "Remove"}</h2>
      <p class="quiet">
        {own
          ? "Deletes all versions, for everyone the secret is shared with."
          : "Removes the secret from your list only, until it is shared with you again."}
      </p>
      {own && <RemovalSchedule secret={secret} onChange={onChange} />}
      <div class="buttons">
        <button class="button danger" type="button" onClick={() => setConfirming(true)}>
          <Icon name="trash" />
          {label}
        </button>
        {!own && <BlockSender sender={secret.owner} onChange={list.reload} />}
      </div>
      {confirming && (
        <ConfirmDialog
          title={`${label}?`}
          confirm={label}
          work={remove}
          onClose={() => setConfirming(false)}
        >
          <p>
            <strong>
              <NameText name={name} />
            </strong>{" "}
            {own ? ownText : `by ${secret.owner} is removed from your list.`}
          </p>
          {own && <PermanentField checked={permanently} onChange={setPermanently} />}
          {own && <RecentConsumers kind="secret" names={[name]} />}
        </ConfirmDialog>
      )}
    </section>
  );
}
