import { useCallback, useEffect, useState } from "preact/hooks";
import type { VNode } from "preact";
import { useAction, type Action } from "../../parts/use-action.ts";
import { browserClock } from "../../service/browser-clock.ts";
import { Icon } from "../../parts/icon.tsx";

/** Time in ms after which a revealed value is hidden again. */
const SHOWN_MS = 30_000;

/** A value that is fetched on request. */
export interface Revealed<T> {
  /** Undefined while the value is hidden. */
  readonly value: T | undefined;
  readonly action: Action;
  readonly reveal: () => void;
  readonly hide: () => void;
}

/**
 * Fetches a value on request. It is removed from the page after 30 seconds, on request, and when
 * the page or the tab is left.
 */
export function useRevealed<T>(load: () => Promise<T>): Revealed<T> {
  const action = useAction();
  const [value, setValue] = useState<T | undefined>(undefined);
  const hide = useCallback(() => setValue(undefined), []);
  useEffect(() => {
    if (value === undefined) return;
    addEventListener("pagehide", hide);
    // In another tab the user may log out.
    document.addEventListener("visibilitychange", hide);
    const cancel = browserClock.after(SHOWN_MS, hide);
    return () => {
      removeEventListener("pagehide", hide);
      document.removeEventListener("visibilitychange", hide);
      cancel();
    };
  }, [value, hide]);
  const reveal = (): void =>
    void action.run(async () => {
      const loaded = await load();
      setValue(() => loaded);
    });
  return { value, action, reveal, hide };
}

interface RevealButtonProps {
  readonly revealed: Revealed<unknown>;
  /** Text of the button while the value is hidden, and while it is shown. */
  readonly show: string;
  readonly hide: string;
}

/** Shows a value that is fetched on request, or hides it again. */
export function RevealButton({ revealed, show, hide }: RevealButtonProps): VNode {
  const shown = revealed.value !== undefined;
  return (
    <button
      class="button"
      type="button"
      onClick={shown ? revealed.hide : revealed.reveal}
      aria-disabled={revealed.action.busy}
    >
      <Icon name={shown ? "eye-off" : "eye"} />
      {shown ? hide : show}
    </button>
  );
}
