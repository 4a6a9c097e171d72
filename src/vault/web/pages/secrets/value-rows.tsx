import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { NameText } from "../../parts/value-text.tsx";
import type { ValueEntry } from "../../text/value-entries.ts";

function Row({ entry: { name, value } }: { readonly entry: ValueEntry }): VNode {
  const [shown, setShown] = useState(false);
  const label = `${shown ? "Hide" : "Reveal"} ${name}`;
  return (
    <li>
      <strong class="break">
        <NameText name={name} />
      </strong>
      {shown ? (
        <code class="break">{value === "" ? <em>(empty)</em> : value}</code>
      ) : (
        <span class="quiet">
          <span aria-hidden="true">••••••••</span>
          <span class="visually-hidden">Hidden</span>
        </span>
      )}
      <span class="row-buttons">
        <button
          class="button icon-button"
          type="button"
          aria-label={label}
          title={label}
          onClick={() => setShown(!shown)}
        >
          <Icon name={shown ? "eye-off" : "eye"} />
        </button>
        <CopyButton what={name} text={value} secret compact />
      </span>
    </li>
  );
}

interface ValueRowsProps {
  readonly entries: readonly ValueEntry[];
  readonly onShowText: () => void;
}

/** The entries of a value, each of which is revealed and copied alone: others see one line. */
export function ValueRows({ entries, onShowText }: ValueRowsProps): VNode {
  return (
    <div class="stack">
      <div class="value-box">
        <ul class="value-rows" aria-label="Entries of the value" tabIndex={0}>
          {entries.map((entry) => (
            <Row key={entry.name} entry={entry} />
          ))}
        </ul>
        <span class="time-left" aria-hidden="true" />
      </div>
      <p>
        <button class="link-button" type="button" onClick={onShowText}>
          Show the whole text
        </button>
      </p>
    </div>
  );
}
