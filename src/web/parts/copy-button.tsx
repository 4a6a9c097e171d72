import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toRequestError } from "../service/request-error.ts";
import { Icon } from "./icon.tsx";
import { useToast } from "./toasts.tsx";

interface CopyButtonProps {
  /** Name of the copied text in the label: `value` for `Copy value`. */
  readonly what: string;
  readonly text: string | (() => Promise<string>);
  /** Shows only the icon; screen readers get the label. */
  readonly compact?: boolean;
}

async function copy(text: CopyButtonProps["text"]): Promise<void> {
  const blob = async (): Promise<Blob> => new Blob([typeof text === "string" ? text : await text()], { type: "text/plain" });
  // The item takes a promise, because some browsers reject a write that starts after an await.
  await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob() })]);
}

/** Copies a text to the clipboard. A fetched text never enters the page. */
export function CopyButton({ what, text, compact = false }: CopyButtonProps): VNode {
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const label = `Copy ${what}`;
  const onClick = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    try {
      await copy(text);
      toast(`Copied ${what}.`);
    } catch (error) {
      const { code, message } = toRequestError(error);
      toast(code === "unexpected" ? "The browser denied access to the clipboard. Copying requires HTTPS." : message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <button
      class={compact ? "button icon-button" : "button"}
      type="button"
      onClick={() => void onClick()}
      aria-label={compact ? label : undefined}
      title={compact ? label : undefined}
    >
      <Icon name="copy" />
      {!compact && label}
    </button>
  );
}
