import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toRequestError } from "../service/request-error.ts";
import { Icon } from "./icon.tsx";
import { useToast } from "./toasts.tsx";

interface CopyButtonProps {
  /** What is copied, for the label: `Copy value`. */
  readonly what: string;
  readonly text: string | (() => Promise<string>);
  /** Only the drawing; the label is there for screen readers. */
  readonly compact?: boolean;
}

async function copy(text: CopyButtonProps["text"]): Promise<void> {
  const blob = async (): Promise<Blob> => new Blob([typeof text === "string" ? text : await text()], { type: "text/plain" });
  // A promise inside the item, because some browsers forget the press while something is fetched.
  await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob() })]);
}

/** Puts something on the clipboard, without it ever being in the page when it is fetched for this. */
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
