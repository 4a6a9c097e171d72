import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.tsx";
import { DiscardQuestion } from "../../parts/discard-question.tsx";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useAction, type Action } from "../../parts/use-action.ts";
import { hasTypedText } from "../../routing/typed-text.ts";

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
        <p>The vault did not end your session. On a shared computer, do not leave before you are logged out.</p>
      </Form>
    </Dialog>
  );
}

/** Logs out. Typed text is not lost without a question, and a failure does not look like a logout. */
export function LogOutButton({ logOut }: LogOutProps): VNode {
  const action = useAction();
  const [dialog, setDialog] = useState<"discard" | "failed" | undefined>(undefined);
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
  return (
    <>
      <button
        class="button"
        type="button"
        aria-disabled={action.busy}
        onClick={() => (hasTypedText() ? setDialog("discard") : run())}
      >
        <Icon name="out" />
        <span class="log-out-text">Log out</span>
      </button>
      {dialog === "discard" && <DiscardQuestion onDiscard={run} onStay={() => setDialog(undefined)} />}
      {dialog === "failed" && <FailedDialog logOut={logOut} action={action} onClose={() => setDialog(undefined)} />}
    </>
  );
}
