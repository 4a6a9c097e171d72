import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { savedScroll } from "./scroll-position.ts";

/**
 * Returns the ref of a paged list. Another page of it is shown from its first row; back in the history, the list is shown where the
 * user had left it.
 */
export function useListScroll(page: number): RefObject<HTMLElement | null> {
  const ref = useRef<HTMLElement>(null);
  const shown = useRef<number | undefined>(undefined);
  useEffect(() => {
    const isFirst = shown.current === undefined;
    shown.current = page;
    const saved = savedScroll();
    if (saved !== undefined) scrollTo(0, saved);
    else if (!isFirst) {
      ref.current?.focus({ preventScroll: true });
      ref.current?.scrollIntoView();
    }
  }, [page]);
  return ref;
}
