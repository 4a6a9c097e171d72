import type { ComponentChildren, VNode } from "preact";
import { Dialog } from "./dialog.tsx";
import { Form } from "./form.tsx";
import { useTitleFocus } from "./page-heading.tsx";
import { useAction } from "./use-action.ts";

interface ConfirmDialogProps {
  readonly title: string;
  /** Label of the confirm button. */
  readonly confirm: string;
  readonly work: () => Promise<void>;
  readonly onClose: () => void;
  /** Describes what will be deleted. */
  readonly children: ComponentChildren;
}

/**
 * Asks for confirmation of an irreversible action, and stays open when the action fails. Then
 * focuses the page title.
 */
export function ConfirmDialog({
  title,
  confirm,
  work,
  onClose,
  children,
}: ConfirmDialogProps): VNode {
  const action = useAction();
  // The button that opened the dialog is removed together with the deleted item.
  const focusTitle = useTitleFocus();
  const doIt = async (): Promise<void> => {
    await work();
    focusTitle();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form action={action} submit={confirm} variant="danger" work={doIt} onCancel={onClose}>
        {children}
      </Form>
    </Dialog>
  );
}
