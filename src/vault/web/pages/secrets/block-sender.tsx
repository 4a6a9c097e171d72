import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useShown } from "../../parts/use-finish.ts";
import { replaceRoute } from "../../routing/use-route.ts";
import { blockSender } from "../../service/account-settings.ts";
import { useClient } from "../../session/client-context.ts";

interface BlockSenderProps {
  readonly sender: string;
  readonly onChange: () => Promise<void>;
}

/** Button that hides everything one sender shares. */
export function BlockSender({ sender, onChange }: BlockSenderProps): VNode {
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
