import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { savedScroll } from "./scroll-position.ts";

/**
 * Returns the ref of a paged list. Another page of it is shown from its first row; back in the
 * history, the list is shown where the user had left it.
 */
export function useListScroll(page: number): RefObject<HTMLElement | null> {
  const ref = useRef<HTMLElement>(null);
  const shown = useRef<number | undefined>(undefined);
  useEffect(() => {
    const isFirst = shown.current === undefined;
    shown.current = page;
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
