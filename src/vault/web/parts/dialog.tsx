import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { hasTypedText } from "../routing/typed-text.ts";
import { DialogFrame } from "./dialog-frame.tsx";
import { DiscardQuestion } from "./discard-question.tsx";

interface DialogProps {
  readonly title: string;
  /** Called when the dialog is closed, also by Escape. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/**
 * A modal dialog, open while it is rendered. Escape asks before it discards text typed into the
 * dialog.
 */
export function Dialog({ title, onClose, children }: DialogProps): VNode {
  const [asking, setAsking] = useState(false);
  const onEscape = (dialog: HTMLDialogElement): void => {
    if (hasTypedText(dialog)) setAsking(true);
    else onClose();
  };
  return (
    <DialogFrame title={title} onEscape={onEscape}>
      {children}
      {asking && <DiscardQuestion onDiscard={onClose} onStay={() => setAsking(false)} />}
    </DialogFrame>
  );
}
