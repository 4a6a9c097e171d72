import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Metadata } from "../../../protocol/metadata.ts";
import { TextField } from "../../parts/field.tsx";
import { Icon } from "../../parts/icon.tsx";
import type { RequestError } from "../../service/request-error.ts";
import { metadataText } from "../../text/metadata-text.ts";
import { initialText, standardNames } from "./read-metadata.ts";

interface StandardField {
  readonly name: (typeof standardNames)[number];
  readonly label: string;
  /** Default of the vault. */
  readonly fallback: string;
}

const fields: readonly StandardField[] = [
  { name: "environment_type", label: "Environment", fallback: "dev" },
  { name: "classification", label: "Classification", fallback: "top" },
  { name: "cloud_type", label: "Cloud", fallback: "aws" },
  { name: "application_type", label: "Application", fallback: "container" },
];

interface MetadataFieldsProps {
  /** Metadata of the edited version. Undefined for a new secret. */
  readonly initial?: Metadata;
  readonly failure: RequestError | undefined;
}

function CustomRow({
  name,
  value,
  nameReadOnly,
}: {
  readonly name: string;
  readonly value: string;
  readonly nameReadOnly: boolean;
}): VNode {
  return (
    <div class="custom-row">
      <TextField label="Name" name="custom-name" defaultValue={name} readOnly={nameReadOnly} required />
      <TextField label="Value" name="custom-value" defaultValue={value} spellcheck={false} />
    </div>
  );
}

function CustomFields({ initial }: { readonly initial: Metadata }): VNode {
  const [added, setAdded] = useState<readonly number[]>([]);
  const existing = Object.entries(initial).filter(([name]) => !standardNames.some((standard) => standard === name));
  return (
    <fieldset class="custom-fields">
      <legend>Custom metadata</legend>
      <p class="hint">
        Values are text or JSON, for example 3, true or {'{"a": 1}'}. Metadata is shown in lists: do not enter secrets.
      </p>
      {existing.map(([name, value]) => (
        <CustomRow key={name} name={name} value={metadataText(value)} nameReadOnly />
      ))}
      {added.map((id) => (
        <CustomRow key={id} name="" value="" nameReadOnly={false} />
      ))}
      <button class="button" type="button" onClick={() => setAdded([...added, added.length])}>
        <Icon name="plus" />
        Add field
      </button>
    </fieldset>
  );
}

/** Fields for the metadata of a version; `readMetadata` reads them. */
export function MetadataFields({ initial = {}, failure }: MetadataFieldsProps): VNode {
  const given = (name: string): string => initialText(initial, name);
  return (
    <>
      <TextField
        label="Description"
        name="metadata.description"
        defaultValue={given("description")}
        placeholder="n/a"
        failure={failure}
      />
      <div class="field-grid">
        {fields.map(({ name, label, fallback }) => (
          <TextField
            key={name}
            label={label}
            name={`metadata.${name}`}
            defaultValue={given(name)}
            placeholder={fallback}
            failure={failure}
          />
        ))}
        <TextField
          label="Expires after (days)"
          name="metadata.expiration_time"
          type="number"
          min="0"
          step="1"
          defaultValue={given("expiration_time")}
          placeholder="10"
          failure={failure}
        />
      </div>
      <CustomFields initial={initial} />
    </>
  );
}
