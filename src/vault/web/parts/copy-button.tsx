import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { toRequestError } from "../service/request-error.ts";
import { shortened } from "../text/visible-text.ts";
import { Icon } from "./icon.tsx";
import { useToast } from "./toasts.tsx";

interface CopyButtonProps {
  /** Name of the copied text in the label: `value` for `Copy value`. */
  readonly what: string;
  readonly text: string | (() => Promise<string>);
  /**
   * Says that the text stays in the clipboard: a page cannot clear the clipboard without reading
   * it. The default for a fetched text.
   */
  readonly secret?: boolean;
  /** Shows only the icon; screen readers get the label. */
  readonly compact?: boolean;
}

async function copy(text: CopyButtonProps["text"]): Promise<void> {
  if (!isSecureContext) throw new Error("the clipboard needs HTTPS");
  const fetched = typeof text === "string" ? Promise.resolve(text) : text();
  const blob = fetched.then((content) => new Blob([content], { type: "text/plain" }));
  // The browser may give up before it takes the text.
  blob.catch(() => undefined);
  try {
    // The item takes a promise, because some browsers reject a write that starts after an await.
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": blob })]);
  } catch (error) {
    // A failure to fetch the text is the reason, whatever the browser says about it.
    await fetched;
    throw error;
  }
}

function deniedText(): string {
  return isSecureContext
    ? "The browser denied access to the clipboard. Allow it for this page, then try again."
    : "The browser allows copying only on pages with HTTPS.";
}

/** Copies a text to the clipboard. A fetched text never enters the page. */
export function CopyButton({
  what,
  text,
  secret = typeof text !== "string",
  compact = false,
}: CopyButtonProps): VNode {
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const label = `Copy ${what}`;
  const onClick = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    try {
      await copy(text);
      const clear = secret ? " Copy something else to clear the clipboard." : "";
      toast(`Copied ${shortened(what)}.${clear}`);
    } catch (error) {
      const { code, message } = toRequestError(error);
      toast(code === "unexpected" ? deniedText() : message, "bad");
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
