import { createContext, type ComponentChildren, type VNode } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";
import { browserClock } from "../service/browser-clock.ts";
import { Icon } from "./icon.tsx";

/** Milliseconds: a failure takes longer to read and to act upon. */
const SHOWN_MS = { good: 6000, bad: 15_000 } as const;

type Tone = keyof typeof SHOWN_MS;

interface Toast {
  readonly text: string;
  readonly tone: Tone;
}

/** Shows a short-lived message; `bad` reports a failure. */
type ShowToast = (text: string, tone?: Tone) => void;

const AddContext = createContext<ShowToast>(() => undefined);
const ShownContext = createContext<Toast | undefined>(undefined);

/** Returns a function that shows a short-lived message in place of the former one. */
export function useToast(): ShowToast {
  return useContext(AddContext);
}

function ToastCard({ toast: { text, tone } }: { readonly toast: Toast }): VNode {
  return (
    <p class={`toast ${tone}`} title={text}>
      <Icon name={tone === "good" ? "check" : "warning"} />
      <span>{text}</span>
    </p>
  );
}

/**
 * Shows the last message. It has a separate place in the header: it never covers a control. The
 * live regions exist before the first message, for screen readers to announce it: a failure
 * interrupts.
 */
export function ToastSlot(): VNode {
  const toast = useContext(ShownContext);
  return (
    <div class="toasts">
      <div role="status">{toast?.tone === "good" && <ToastCard toast={toast} />}</div>
      <div role="alert">{toast?.tone === "bad" && <ToastCard toast={toast} />}</div>
    </div>
  );
}

/** Keeps the message of the pages inside it for some seconds. */
export function Toasts({ children }: { readonly children: ComponentChildren }): VNode {
  const [toast, setToast] = useState<Toast | undefined>(undefined);
  const add = useCallback<ShowToast>((text, tone = "good") => setToast({ text, tone }), []);
  useEffect(
    () => toast && browserClock.after(SHOWN_MS[toast.tone], () => setToast(undefined)),
    [toast],
  );
  return (
    <AddContext.Provider value={add}>
      <ShownContext.Provider value={toast}>{children}</ShownContext.Provider>
    </AddContext.Provider>
  );
}
