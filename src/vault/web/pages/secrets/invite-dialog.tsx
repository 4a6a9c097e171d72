import type { VNode } from "preact";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useAction } from "../../parts/use-action.ts";

interface InviteDialogProps {
  /** Recipients without an account or a login. */
  readonly absent: readonly string[];
  readonly work: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks before a secret is shared with addresses that the vault does not know as logged in. */
export function InviteDialog({ absent, work, onClose }: InviteDialogProps): VNode {
  const action = useAction();
  const invite = async (): Promise<void> => {
    await work();
    onClose();
  };
  return (
    <Dialog
      title={absent.length === 1 ? "Invite this user?" : `Invite these ${absent.length} users?`}
      onClose={onClose}
    >
      <Form action={action} submit="Invite and share" icon="mail" work={invite} onCancel={onClose}>
        <ul class="invited">
          {absent.map((email) => (
            <li key={email} class="break">
              <strong>{email}</strong>
            </li>
          ))}
        </ul>
        <p>
          No account yet, or not logged in at present: the vault does not tell which, nor who of
          several strangers. Check the spelling. Whoever receives email at{" "}
          {absent.length === 1 ? "this address" : "these addresses"} gets an invitation and, after
          the login, the secret. Nothing is shared so far.
        </p>
      </Form>
    </Dialog>
  );
}
