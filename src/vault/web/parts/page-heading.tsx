import type { ComponentChildren, VNode } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { visibleText } from "../text/visible-text.ts";
import { savedScroll } from "./scroll-position.ts";

interface PageHeadingProps {
  readonly title: string;
  /** Appearance of the title in the page; the window shows its text. */
  readonly shown?: VNode;
  /** Actions for the whole page. */
  readonly children?: ComponentChildren;
}

let pagesShown = 0;

/**
 * Returns a function to call after work that removes the button which opened a dialog: the title
 * gets the focus once the dialog is closed.
 */
export function useTitleFocus(): () => void {
  const done = useRef(false);
  useEffect(
    () => () => {
      if (done.current) queueMicrotask(() => document.querySelector("h1")?.focus());
    },
    [],
  );
  return useCallback(() => void (done.current = true), []);
}

/**
 * Sets the title of the page and of the window. It takes the focus after a navigation: screen
 * readers then announce it.
 */
export function PageHeading({ title, shown, children }: PageHeadingProps): VNode {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${visibleText(title)} · Vaultsync`;
  }, [title]);
  // Before the fields below it, one of which may take the focus.
  useLayoutEffect(() => {
    if (pagesShown++ === 0 || document.activeElement instanceof HTMLInputElement) return;
    ref.current?.focus({ preventScroll: true });
    scrollTo(0, savedScroll() ?? 0);
  }, []);
  return (
    <div class="page-heading">
      <h1 ref={ref} tabIndex={-1}>
        {shown ?? title}
      </h1>
      {children}
    </div>
  );
}
