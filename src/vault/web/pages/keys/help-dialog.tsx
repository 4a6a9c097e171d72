import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Dialog } from "../../parts/dialog.tsx";
import { singleKeys } from "./single-keys.ts";

const keys: readonly (readonly [key: string, effect: string])[] = [
  ["/", "Search the secrets"],
  ["Ctrl+K", "Open a secret"],
  ["n", "New secret"],
  ["Ctrl+Enter", "Submit the form"],
  ["?", "List the keys"],
];

/** Lists the keys, and turns those without Ctrl off. */
export function HelpDialog({ onClose }: { readonly onClose: () => void }): VNode {
  const [on, setOn] = useState(singleKeys.on);
  const change = (next: boolean): void => {
    singleKeys.set(next);
    setOn(next);
  };
  return (
    <Dialog title="Keys" onClose={onClose}>
      <div class="form">
        <dl class="facts">
          {keys.map(([key, effect]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{effect}</dd>
            </div>
          ))}
        </dl>
        <label class="check">
          <input
            type="checkbox"
            checked={on}
            onChange={(event) => change(event.currentTarget.checked)}
          />
          <span>Keys without Ctrl act on the page</span>
        </label>
        <div class="form-buttons">
          <button class="button" type="button" onClick={onClose} autofocus>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
