import { useCallback, useLayoutEffect, useRef } from "preact/hooks";
import { navigate } from "../routing/use-route.ts";
import type { Route } from "../routing/route.ts";
import { useToast } from "./toasts.tsx";

/** Returns a function that reports whether the component is still in the page. */
export function useShown(): () => boolean {
  const shown = useRef(true);
  // Another effect would end after the next paint: a failure until then would be lost.
  useLayoutEffect(() => {
    shown.current = true;
    return () => void (shown.current = false);
  }, []);
  return useCallback(() => shown.current, []);
}

/**
 * Returns a function that reports the work of a form and opens a page. When the user has left the
 * form, the message links to the page instead: nothing replaces what the user does now.
 */
export function useFinish(): (text: string, route: Route, link: string) => void {
  const toast = useToast();
  const isShown = useShown();
  return (text, route, label) => {
    if (isShown()) {
      toast(text);
      navigate(route);
    } else {
      toast(text, "good", { route, label });
    }
  };
}
