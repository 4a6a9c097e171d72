import type { ComponentChildren, RefObject, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

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
