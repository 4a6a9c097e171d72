import { createContext, type ComponentChildren, type VNode } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";
import { browserClock } from "../service/browser-clock.ts";
import { hrefOf, type Route } from "../routing/route.ts";
import { Icon } from "./icon.tsx";

/** Milliseconds: a failure, and a link, take longer to read and to act upon. */
const SHOWN_MS = { good: 6000, bad: 15_000 } as const;

type Tone = keyof typeof SHOWN_MS;

/** A page that a message leads to. */
interface ToastLink {
  readonly route: Route;
  readonly label: string;
}

interface Toast {
  readonly text: string;
  readonly tone: Tone;
  readonly link?: ToastLink | undefined;
}

/** Shows a short-lived message; `bad` reports a failure. */
type ShowToast = (text: string, tone?: Tone, link?: ToastLink) => void;

const AddContext = createContext<ShowToast>(() => undefined);
const ShownContext = createContext<Toast | undefined>(undefined);

/** Returns a function that shows a short-lived message in place of the former one. */
export function useToast(): ShowToast {
  return useContext(AddContext);
}

function ToastCard({ toast: { text, tone, link } }: { readonly toast: Toast }): VNode {
  return (
    <p class={`toast ${tone}`} title={text}>
      <Icon name={tone === "good" ? "check" : "warning"} />
      <span>{text}</span>
      {link && <a href={hrefOf(link.route)}>{link.label}</a>}
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
  const add = useCallback<ShowToast>(
    (text, tone = "good", link) => setToast({ text, tone, link }),
    [],
  );
  useEffect(
    () =>
      toast &&
      browserClock.after(SHOWN_MS[toast.link ? "bad" : toast.tone], () => setToast(undefined)),
    [toast],
  );
  return (
    <AddContext.Provider value={add}>
      <ShownContext.Provider value={toast}>{children}</ShownContext.Provider>
    </AddContext.Provider>
  );
}
