import type { VNode } from "preact";
import { DialogFrame } from "./dialog-frame.tsx";

interface DiscardQuestionProps {
  readonly onDiscard: () => void;
  readonly onStay: () => void;
}

/** Asks before typed text is lost. */
export function DiscardQuestion({ onDiscard, onStay }: DiscardQuestionProps): VNode {
  return (
    <DialogFrame title="Discard what you entered?" onEscape={onStay}>
      <div class="form">
        <p>It is not saved anywhere.</p>
        <div class="form-buttons">
          <button class="button danger" type="button" onClick={onDiscard}>
            Discard
          </button>
          <button class="button" type="button" onClick={onStay} autofocus>
            Continue editing
          </button>
        </div>
      </div>
    </DialogFrame>
  );
}
