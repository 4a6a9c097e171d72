import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Dialog } from "./dialog.tsx";
import { Form } from "./form.tsx";
import { focusTitle } from "./page-heading.tsx";
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

/** Asks before something that cannot be taken back; stays open, with the reason, when it fails. Afterwards the focus is on the title. */
export function ConfirmDialog({ title, confirm, work, onClose, children }: ConfirmDialogProps): VNode {
  const action = useAction();
  const done = useRef(false);
  // What opened the dialog goes with what it was about, at once or soon.
  useEffect(
    () => () => {
      if (done.current) queueMicrotask(focusTitle);
    },
    [],
  );
  const doIt = async (): Promise<void> => {
    await work();
    done.current = true;
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
