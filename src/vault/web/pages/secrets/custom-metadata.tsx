import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Metadata } from "../../../../protocol/metadata.ts";
import { TextField } from "../../parts/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import { metadataText } from "../../text/metadata-text.ts";
import { isStandardName } from "./read-metadata.ts";

interface Row {
  readonly id: number;
  readonly name: string;
  readonly value: string;
  /** The version has metadata of this name; it stays or is removed. */
  readonly existing: boolean;
}

function CustomRow({ row, onRemove }: { readonly row: Row; readonly onRemove: () => void }): VNode {
  const label = row.existing ? `Remove ${row.name}` : "Remove this field";
  return (
    <div class="custom-row">
      <TextField
        label="Name"
        name="custom-name"
        defaultValue={row.name}
        readOnly={row.existing}
        required
        autocomplete="off"
        spellcheck={false}
      />
      <TextField
        label="Value"
        name="custom-value"
        defaultValue={row.value}
        autocomplete="off"
        spellcheck={false}
      />
      <button
        class="button icon-button"
        type="button"
        aria-label={label}
        title={label}
        onClick={onRemove}
      >
        <Icon name="trash" />
      </button>
    </div>
  );
}

function rowsOf(initial: Metadata): Row[] {
  return Object.entries(initial)
    .filter(([name]) => !isStandardName(name))
    .map(([name, value], id) => ({ id, name, value: metadataText(value), existing: true }));
}

/**
 * Fields for custom metadata. A field that is taken away removes its name from the version;
 * `readMetadata` reads them.
 */
export function CustomMetadata({ initial }: { readonly initial: Metadata }): VNode {
  const [rows, setRows] = useState(() => rowsOf(initial));
  const add = (): void =>
    setRows([...rows, { id: (rows.at(-1)?.id ?? -1) + 1, name: "", value: "", existing: false }]);
  return (
    <fieldset class="custom-fields">
      <legend>Custom metadata</legend>
      <p class="hint">
        Values are text or JSON, for example 3, true or {'{"a": 1}'}. Metadata is not encrypted, and
        recipients see it: do not enter secrets.
      </p>
      {rows.map((row) => (
        <CustomRow
          key={row.id}
          row={row}
          onRemove={() => setRows(rows.filter(({ id }) => id !== row.id))}
        />
      ))}
      <button class="button" type="button" onClick={add}>
        <Icon name="plus" />
        Add field
      </button>
    </fieldset>
  );
}
