import type { VNode } from "preact";
import { visibleParts } from "../text/visible-text.ts";

/**
 * A name of a user's choice: kept apart from the direction of the text around it, with runs of
 * spaces and invisible characters shown.
 */
export function NameText({ name }: { readonly name: string }): VNode {
  return (
    <bdi class="name-text">
      {visibleParts(name).map(({ text, hidden }, at) =>
        hidden ? (
          <span key={at} class="hidden-character">
            {text}
          </span>
        ) : (
          text
        ),
      )}
    </bdi>
  );
}
