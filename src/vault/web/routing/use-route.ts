import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { hrefOf, parseRoute, type Route } from "./route.ts";
import { hasTypedText } from "./typed-text.ts";

/** Reads the address, and removes a token in it from the address bar and the history. */
function readRoute(): Route {
  const route = parseRoute(location.hash);
  if (route.page === "set-password" && route.token !== "")
    history.replaceState(null, "", hrefOf(route));
  return route;
}

/** A page that would replace one with typed text. */
interface Leaving {
  readonly leave: () => void;
  readonly stay: () => void;
}

function entryState(): object {
  const state: unknown = history.state;
  return typeof state === "object" && state !== null ? state : {};
}

/** Marks the history entry: a new one has no mark. */
function markEntry(): void {
  history.replaceState({ ...entryState(), visited: true }, "");
}

function isMarked(): boolean {
  return "visited" in entryState();
}

/** Asks before the browser unloads a page with typed text, in the browser's own words. */
function askBeforeUnload(event: BeforeUnloadEvent): void {
  if (hasTypedText()) event.preventDefault();
}

/**
 * Returns the route of the current address and follows its changes. `leaving` is set while the user
 * has to decide about typed text.
 */
export function useRoute(): { readonly route: Route; readonly leaving: Leaving | undefined } {
  const [route, setRoute] = useState(readRoute);
  const [wanted, setWanted] = useState<Route | undefined>(undefined);
  const shown = useRef(route);
  const open = useCallback((next: Route) => {
    markEntry();
    shown.current = next;
    setRoute(next);
    setWanted(undefined);
  }, []);
  useEffect(() => {
    markEntry();
    const follow = (): void => {
      const next = readRoute();
      const asks = hrefOf(next) !== hrefOf(shown.current) && hasTypedText();
      if (asks) setWanted(next);
      else open(next);
    };
    addEventListener("hashchange", follow);
    addEventListener("beforeunload", askBeforeUnload);
    return () => {
      removeEventListener("hashchange", follow);
      removeEventListener("beforeunload", askBeforeUnload);
    };
  }, [open]);
  const stay = (): void => {
    setWanted(undefined);
    // The address already names the other page: leaves a new entry, or adds the page after an old
    // one.
    if (isMarked()) history.pushState({ visited: true }, "", hrefOf(shown.current));
    else history.back();
  };
  return { route, leaving: wanted && { leave: () => open(wanted), stay } };
}

/** Opens a page and adds it to the history. */
export function navigate(route: Route): void {
  location.hash = hrefOf(route);
}

/** Opens a page in place of the current history entry. */
export function replaceRoute(route: Route): void {
  location.replace(hrefOf(route));
}

/**
 * Writes the state of the current page's list into the address. `push` adds it to the history: the
 * browser's back button returns to the former state.
 */
export function writeQuery(route: Route, push: boolean): void {
  const href = hrefOf(route);
  if (push) history.pushState(null, "", href);
  else history.replaceState(history.state, "", href);
  // The browser fires it only for navigations.
  dispatchEvent(new Event("hashchange"));
}
