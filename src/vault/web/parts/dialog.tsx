import type { ComponentChildren, VNode, RefObject } from "preact";
import { useState, useId, useLayoutEffect, useRef } from "preact/hooks";
import { hasTypedText, isSavingText } from "../routing/typed-text.ts";

interface DialogFrameProps {
  readonly title: string;
  /** Called at Escape. The dialog stays open while it is rendered. */
  readonly onEscape: (dialog: HTMLDialogElement) => void;
  /** Hides the page behind the dialog. */
  readonly veiled?: boolean;
  readonly children: ComponentChildren;
}

/** Keeps a dialog open while it is rendered. */
function useModal(): RefObject<HTMLDialogElement | null> {
  const ref = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    // Some browsers close a dialog at a second Escape without asking.
    const reopen = (): void => dialog?.showModal();
    dialog?.addEventListener("close", reopen);
    return () => {
      dialog?.removeEventListener("close", reopen);
      // Close it before removal, because only then the browser restores the focus.
      dialog?.close();
    };
  }, []);
  return ref;
}

/** A modal dialog. The browser traps the focus and restores it afterwards. */
export function DialogFrame({
  title,
  onEscape,
  veiled = false,
  children,
}: DialogFrameProps): VNode {
  const ref = useModal();
  const titleId = useId();
  const onCancel = (event: Event): void => {
    event.preventDefault();
    if (ref.current) onEscape(ref.current);
  };
  return (
    <dialog
      ref={ref}
      class={veiled ? "dialog veiled" : "dialog"}
      aria-labelledby={titleId}
      onCancel={onCancel}
    >
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}

interface DiscardQuestionProps {
  readonly onDiscard: () => void;
  readonly onStay: () => void;
}

/** Asks before typed text is lost. */
export function DiscardQuestion({ onDiscard, onStay }: DiscardQuestionProps): VNode {
  const [saving] = useState(isSavingText);
  const title = saving ? "Leave while this is saved?" : "Discard what you entered?";
  return (
    <DialogFrame title={title} onEscape={onStay}>
      <div class="form">
        <p>
          {saving
            ? "A message will report the result. What cannot be saved is lost."
            : "It is not saved anywhere."}
        </p>
        <div class="form-buttons">
          <button class="button danger" type="button" onClick={onDiscard}>
            {saving ? "Leave" : "Discard"}
          </button>
          <button class="button" type="button" onClick={onStay} autofocus>
            Continue editing
          </button>
        </div>
      </div>
    </DialogFrame>
  );
}

interface DialogProps {
  readonly title: string;
  /** Called when the dialog is closed, also by Escape. */
  readonly onClose: () => void;
  /** Called at Escape instead, while it is set. */
  readonly onEscape?: (() => void) | undefined;
  readonly children: ComponentChildren;
}

/**
 * A modal dialog, open while it is rendered. Escape asks before it discards text typed into the
 * dialog.
 */
export function Dialog({ title, onClose, onEscape, children }: DialogProps): VNode {
  const [asking, setAsking] = useState(false);
  const close = (dialog: HTMLDialogElement): void => {
    if (hasTypedText(dialog)) setAsking(true);
    else onClose();
  };
  return (
    <DialogFrame title={title} onEscape={onEscape ?? close}>
      {children}
      {asking && <DiscardQuestion onDiscard={onClose} onStay={() => setAsking(false)} />}
    </DialogFrame>
  );
}
