import type { ComponentChildren, VNode } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  /** Called when it is closed, by Escape too. */
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Back to what opened the dialog; to the page's title when that is gone by now. */
function giveFocus(opener: Element | null): void {
  const target = opener?.isConnected ? opener : document.querySelector("h1");
  if (target instanceof HTMLElement) target.focus();
}

/** A modal dialog, open as long as it is rendered. The browser keeps the focus in it; afterwards it is where it was. */
export function Dialog({ title, onClose, children }: DialogProps): VNode {
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      giveFocus(opener);
    };
  }, []);
  const onCancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={ref} class="dialog" aria-labelledby={titleId} onCancel={onCancel}>
      <h2 id={titleId}>{title}</h2>
      {children}
    </dialog>
  );
}
