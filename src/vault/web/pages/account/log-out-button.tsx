import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { ConfirmDialog } from "../../parts/confirm-dialog.tsx";
import { Dialog, DiscardQuestion } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useAction, type Action } from "../../parts/use-action.ts";
import { hasTypedText } from "../../routing/typed-text.ts";
import { isUploading } from "../../service/files.ts";

interface LogOutProps {
  /** Ends the session in the vault, then closes the pages. */
  readonly logOut: () => Promise<void>;
}

/** Says that a logout has failed: only the vault can end the session. */
function FailedDialog({
  logOut,
  action,
  onClose,
}: LogOutProps & { readonly action: Action; readonly onClose: () => void }): VNode {
  return (
    <Dialog title="You are still logged in" onClose={onClose}>
      <Form action={action} submit="Try again" icon="out" work={logOut} onCancel={onClose}>
        <p>
          The vault did not end your session. On a shared computer, do not leave before you are
          logged out.
        </p>
      </Form>
    </Dialog>
  );
}

/**
 * Logs out. Typed text and uploads are not lost without a question, and a failure does not look
 * like a logout.
 */
export function LogOutButton({ logOut }: LogOutProps): VNode {
  const action = useAction();
  const [dialog, setDialog] = useState<"discard" | "uploads" | "failed" | undefined>(undefined);
  const run = (): void => {
    setDialog(undefined);
    void action.run(async () => {
      try {
        await logOut();
      } catch (error) {
        setDialog("failed");
        throw error;
      }
    });
  };
  const ask = (): void => {
    if (hasTypedText()) setDialog("discard");
    else if (isUploading()) setDialog("uploads");
    else run();
  };
  return (
    <>
      <button class="button" type="button" aria-disabled={action.busy} onClick={ask}>
        <Icon name="out" />
        <span class="log-out-text">Log out</span>
      </button>
      {dialog === "discard" && (
        <DiscardQuestion onDiscard={run} onStay={() => setDialog(undefined)} />
      )}
      {dialog === "uploads" && (
        <ConfirmDialog
          title="Log out during uploads?"
          confirm="Log out"
          work={logOut}
          onClose={() => setDialog(undefined)}
        >
          <p>Files are still being uploaded. Logging out cancels what is not stored yet.</p>
        </ConfirmDialog>
      )}
      {dialog === "failed" && (
        <FailedDialog logOut={logOut} action={action} onClose={() => setDialog(undefined)} />
      )}
    </>
  );
}
