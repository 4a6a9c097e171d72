import { createContext, type ComponentChildren, type VNode } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";
import { browserClock } from "../service/browser-clock.ts";
import { Icon } from "./icon.tsx";

const SHOWN_MS = 6000;

interface Toast {
  readonly text: string;
}

const AddContext = createContext<(text: string) => void>(() => undefined);
const ShownContext = createContext<Toast | undefined>(undefined);

/** Returns a function that shows a short-lived message in place of the former one. */
export function useToast(): (text: string) => void {
  return useContext(AddContext);
}

/**
 * Shows the last message. It has a place of its own in the header, so that it never covers a control. The live region exists
 * before the first message, so that screen readers announce it.
 */
export function ToastSlot(): VNode {
  const toast = useContext(ShownContext);
  return (
    <div class="toasts" role="status">
      {toast && (
        <p class="toast" title={toast.text}>
          <Icon name="check" />
          <span>{toast.text}</span>
        </p>
      )}
    </div>
  );
}

/** Keeps the message of the pages inside it for six seconds. */
export function Toasts({ children }: { readonly children: ComponentChildren }): VNode {
  const [toast, setToast] = useState<Toast | undefined>(undefined);
  const add = useCallback((text: string) => setToast({ text }), []);
  useEffect(() => toast && browserClock.after(SHOWN_MS, () => setToast(undefined)), [toast]);
  return (
    <AddContext.Provider value={add}>
      <ShownContext.Provider value={toast}>{children}</ShownContext.Provider>
    </AddContext.Provider>
  );
}
