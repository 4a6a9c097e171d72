import type { ComponentChildren, VNode } from "preact";
import { useId, useState } from "preact/hooks";

interface DisclosureProps {
  readonly label: string;
  /** Shows the fields whatever the user has chosen. */
  readonly forced?: boolean;
  readonly children: ComponentChildren;
}

/**
 * Button that shows and hides further fields; hidden ones keep their text. It is no `<details>`:
 * with a closed one on the page, browsers take minutes to select a long text in a textarea.
 */
export function Disclosure({ label, forced = false, children }: DisclosureProps): VNode {
  const id = useId();
  const [state, setState] = useState<"new" | "open" | "closed">("new");
  const open = state === "open" || forced;
  return (
    <div class="more">
      <button
        type="button"
        class="disclosure"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setState(open ? "closed" : "open")}
      >
        {label}
      </button>
      <div id={id} class="form" hidden={!open}>
        {(open || state === "closed") && children}
      </div>
    </div>
  );
}
