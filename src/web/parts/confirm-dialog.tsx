import type { ComponentChildren, VNode } from "preact";
import { Dialog } from "./dialog.tsx";
import { Form } from "./form.tsx";
import { useAction } from "./use-action.ts";

interface ConfirmDialogProps {
  readonly title: string;
  /** What the button that does it says. */
  readonly confirm: string;
  readonly work: () => Promise<void>;
  readonly onClose: () => void;
  /** What will be gone. */
  readonly children: ComponentChildren;
}

/** Asks before something that cannot be taken back; stays open, with the reason, when it fails. */
export function ConfirmDialog({ title, confirm, work, onClose, children }: ConfirmDialogProps): VNode {
  const action = useAction();
  const doIt = async (): Promise<void> => {
    await work();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={action} submit={confirm} look="danger" work={doIt} onCancel={onClose}>
        {children}
      </Form>
    </Dialog>
  );
}
