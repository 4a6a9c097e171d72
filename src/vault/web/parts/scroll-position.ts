import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/**
 * Address of the shown page, and the scroll position that its history entry had when it was opened.
 */
let shown = "";
let opened: number | undefined;

function entryScroll(): number | undefined {
  const { state }: { readonly state: unknown } = history;
  if (typeof state !== "object" || state === null || !("scroll" in state)) return undefined;
  return typeof state.scroll === "number" ? state.scroll : undefined;
}

function open(): void {
  shown = location.href;
  opened = entryScroll();
}

/**
 * Writes the scroll position into the entry of the shown page. The browser changes the entry before
 * it reports that.
 */
function save(): void {
  if (location.href !== shown) return;
  const { state }: { readonly state: unknown } = history;
  history.replaceState({ ...(typeof state === "object" && state), scroll: scrollY }, "");
}

/**
 * Keeps the scroll position of each history entry in the entry itself. The browser would restore it
 * before the page is rendered. It is saved before a click navigates, and when the user has
 * scrolled. Call it before anything else follows the address.
 */
export function keepScrollPosition(): void {
  history.scrollRestoration = "manual";
  open();
  addEventListener("hashchange", open);
  addEventListener("click", save, { capture: true });
  addEventListener("scrollend", save);
}

/**
 * Returns the scroll position that the current history entry was left at, `undefined` for a new
 * one.
 */
export function savedScroll(): number | undefined {
  return opened;
}

/**
 * Returns the ref of a paged list. Another page of it is shown from its first row; back in the
 * history, the list is shown where the user had left it.
 */
export function useListScroll(page: number): RefObject<HTMLElement | null> {
  const ref = useRef<HTMLElement>(null);
  const shownPage = useRef<number | undefined>(undefined);
  useEffect(() => {
    const isFirst = shownPage.current === undefined;
    shownPage.current = page;
    const saved = savedScroll();
    // A search that returns to the first page keeps the focus in its field.
    const isTyping = document.activeElement instanceof HTMLInputElement;
    if (saved !== undefined) scrollTo(0, saved);
    else if (!isFirst && !isTyping) {
      ref.current?.focus({ preventScroll: true });
      ref.current?.scrollIntoView();
    }
  }, [page]);
  return ref;
}

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
