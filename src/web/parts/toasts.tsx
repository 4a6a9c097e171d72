import { createContext, type ComponentChildren, type VNode } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";
import { browserClock } from "./browser-clock.ts";
import { Icon } from "./icon.tsx";

const SHOWN_MS = 6000;

interface Toast {
  readonly id: number;
  readonly text: string;
}

const Context = createContext<(text: string) => void>(() => undefined);

/** Returns a function that shows a short-lived message. */
export function useToast(): (text: string) => void {
  return useContext(Context);
}

function ToastCard({ toast, onGone }: { readonly toast: Toast; readonly onGone: (id: number) => void }): VNode {
  useEffect(() => browserClock.after(SHOWN_MS, () => onGone(toast.id)), [toast, onGone]);
  return (
    <p class="toast">
      <Icon name="check" />
      {toast.text}
    </p>
  );
}

/** Renders the live region of the toasts, which exists before the first one so that screen readers announce it. */
export function Toasts({ children }: { readonly children: ComponentChildren }): VNode {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const add = useCallback(
    (text: string) => setToasts((shown) => [...shown.slice(-2), { id: (shown.at(-1)?.id ?? 0) + 1, text }]),
    [],
  );
  const remove = useCallback((id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)), []);
  return (
    <Context.Provider value={add}>
      {children}
      <div class="toasts" role="status">
        {toasts.map((toast) => (
          <ToastCard key={toast.id} toast={toast} onGone={remove} />
        ))}
      </div>
    </Context.Provider>
  );
}
