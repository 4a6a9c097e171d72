import { createContext, type ComponentChildren, type VNode } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";
import { browserClock } from "../service/browser-clock.ts";
import { hrefOf, type Route } from "../routing/route.ts";
import { Icon } from "./icon.tsx";

/** Milliseconds: a failure, and what the user can act upon, take longer. */
const SHOWN_MS = { good: 6000, bad: 15_000 } as const;

type Tone = keyof typeof SHOWN_MS;

/** A page that a message leads to. */
interface ToastLink {
  readonly route: Route;
  readonly label: string;
}

/** A button of a message. */
interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

interface Toast {
  readonly text: string;
  readonly tone: Tone;
  readonly next?: ToastLink | ToastAction | undefined;
}

/** Shows a short-lived message; `bad` reports a failure. */
type ShowToast = (text: string, tone?: Tone, next?: ToastLink | ToastAction) => void;

const AddContext = createContext<ShowToast>(() => undefined);
const ShownContext = createContext<Toast | undefined>(undefined);

/** Returns a function that shows a short-lived message in place of the former one. */
export function useToast(): ShowToast {
  return useContext(AddContext);
}

function ToastCard({ toast: { text, tone, next } }: { readonly toast: Toast }): VNode {
  return (
    <p class={`toast ${tone}`} title={text}>
      <Icon name={tone === "good" ? "check" : "warning"} />
      <span>{text}</span>
      {next && "route" in next && <a href={hrefOf(next.route)}>{next.label}</a>}
      {next && "run" in next && (
        <button class="link-button" type="button" onClick={next.run}>
          {next.label}
        </button>
      )}
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

/**
 * Keeps the message of the pages inside it for some seconds. Its key is the account: a message that
 * names what one account has does not stay for another.
 */
export function Toasts({ children }: { readonly children: ComponentChildren }): VNode {
  const [toast, setToast] = useState<Toast | undefined>(undefined);
  const add = useCallback<ShowToast>(
    (text, tone = "good", next) => setToast({ text, tone, next }),
    [],
  );
  useEffect(() => {
    if (!toast) return;
    let cancel: () => void = () => undefined;
    const wait = (ms: number): void => {
      cancel = browserClock.after(ms, () => {
        // A message that has the focus stays: the user is about to act on it.
        if (document.activeElement?.closest(".toast")) wait(SHOWN_MS.good);
        else setToast(undefined);
      });
    };
    wait(SHOWN_MS[toast.next ? "bad" : toast.tone]);
    return () => cancel();
  }, [toast]);
  return (
    <AddContext.Provider value={add}>
      <ShownContext.Provider value={toast}>{children}</ShownContext.Provider>
    </AddContext.Provider>
  );
}
