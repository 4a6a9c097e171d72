import type { VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { NameText } from "../../parts/value-text.tsx";
import { valueEntries, type ValueEntry } from "../../text/value-entries.ts";
import { valueEnd } from "../../text/value-format.ts";

function Row({ entry: { name, value } }: { readonly entry: ValueEntry }): VNode {
  const [shown, setShown] = useState(false);
  const label = `${shown ? "Hide" : "Reveal"} ${name}`;
  const end = valueEnd(value);
  return (
    <li>
      <strong class="break">
        <NameText name={name} />
      </strong>
      {shown ? (
        <span class="break">
          <code>{value === "" ? <em>(empty)</em> : value}</code>
          {end !== undefined && <span class="hint"> {end}</span>}
        </span>
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
function ValueRows({ entries, onShowText }: ValueRowsProps): VNode {
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

/**
 * A revealed value with the time that is left. An `.env` file and a JSON object are entries that are
 * revealed one by one.
 */
export function ShownValue({ value }: { readonly value: string }): VNode {
  const [asText, setAsText] = useState(false);
  const entries = useMemo(() => valueEntries(value), [value]);
  if (entries.length > 0 && !asText)
    return <ValueRows entries={entries} onShowText={() => setAsText(true)} />;
  const end = valueEnd(value);
  return (
    <>
      <div class="value-box">
        <pre class="value shown" tabIndex={0} role="group" aria-label="Value">
          {value === "" ? <em>(empty)</em> : value}
        </pre>
        <span class="time-left" aria-hidden="true" />
      </div>
      {end !== undefined && <p class="hint">{end}</p>}
    </>
  );
}
