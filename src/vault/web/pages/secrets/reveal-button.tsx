import type { VNode } from "preact";
import { Icon } from "../../parts/icon.tsx";
import type { Revealed } from "./use-revealed.ts";

interface RevealButtonProps {
  readonly revealed: Revealed<unknown>;
  /** Text of the button while the value is hidden, and while it is shown. */
  readonly show: string;
  readonly hide: string;
}

/** Shows a value that is fetched on request, or hides it again. */
export function RevealButton({ revealed, show, hide }: RevealButtonProps): VNode {
  const shown = revealed.value !== undefined;
  return (
    <button
      class="button"
      type="button"
      onClick={shown ? revealed.hide : revealed.reveal}
      aria-disabled={revealed.action.busy}
    >
      <Icon name={shown ? "eye-off" : "eye"} />
      {shown ? hide : show}
    </button>
  );
}
