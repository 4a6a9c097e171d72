import { useEffect } from "preact/hooks";

/** Runs `onReturn` each time the user returns to this tab. */
export function useReturn(onReturn: () => void): void {
  useEffect(() => {
    const follow = (): void => {
      if (document.visibilityState === "visible") onReturn();
    };
    document.addEventListener("visibilitychange", follow);
    return () => document.removeEventListener("visibilitychange", follow);
  }, [onReturn]);
}
