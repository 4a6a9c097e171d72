import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface PageHeadingProps {
  readonly title: string;
  /** What one can do with the page as a whole. */
  readonly children?: ComponentChildren;
}

let pagesShown = 0;

export function focusTitle(): void {
  document.querySelector("h1")?.focus();
}

/** A page's title, in the page and of the window. After a navigation the focus goes there, so that it is read out. */
export function PageHeading({ title, children }: PageHeadingProps): VNode {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Vaultsync`;
  }, [title]);
  useEffect(() => {
    if (pagesShown++ === 0 || document.activeElement instanceof HTMLInputElement) return;
    ref.current?.focus();
    scrollTo(0, 0);
  }, []);
  return (
    <div class="page-heading">
      <h1 ref={ref} tabIndex={-1}>
        {title}
      </h1>
      {children}
    </div>
  );
}
