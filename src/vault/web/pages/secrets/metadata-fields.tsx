import type { VNode } from "preact";
import { useId, useMemo } from "preact/hooks";
import type { Metadata } from "../../../../protocol/metadata.ts";
import { TextField } from "../../parts/field.tsx";
import type { RequestError } from "../../service/request-error.ts";
import { metadataLabel } from "../../text/metadata-text.ts";
import { CustomMetadata } from "./custom-metadata.tsx";
import { metadataChoices } from "./list-view.ts";
import { initialText } from "./read-metadata.ts";
import { useKnownSecrets } from "./secrets-context.ts";

/** Standard names in one line each, in addition to the description and the expiry. */
const attributes = [
  "environment_type",
  "classification",
  "cloud_type",
  "application_type",
] as const;

/** Longest lifetime that the pages accept for a new expiry: a hundred years. */
const MAX_DAYS = 36_500;

const EXPIRY_HINT =
  "A reminder to replace the value, counted from the creation of each version. An expired version is marked and stays readable, unless " +
  "this vault denies expired values. Nothing is deleted.";

interface MetadataFieldsProps {
  /** Metadata to start with. */
  readonly initial: Metadata;
  readonly failure: RequestError | undefined;
}

/** A field that suggests the texts in use. */

function AttributeField({
  name,
  initial,
  failure,
}: MetadataFieldsProps & { readonly name: string }): VNode {
  const list = useId();
  const secrets = useKnownSecrets();
  const choices = useMemo(() => metadataChoices(secrets, name), [secrets, name]);
  return (
    <div>
      <TextField
        label={metadataLabel(name)}
        name={`metadata.${name}`}
        defaultValue={initialText(initial, name)}
        autocomplete="off"
        list={list}
        failure={failure}
      />
      <datalist id={list}>
        {choices.map((choice) => (
          <option key={choice} value={choice} />
        ))}
      </datalist>
    </div>
  );
}

export function EnvironmentField(props: MetadataFieldsProps): VNode {
  return <AttributeField name="environment_type" {...props} />;
}

export function AttributeFields(props: MetadataFieldsProps): VNode {
  return (
    <>
      <div class="field-grid pairs">
        {attributes.map((name) => (
          <AttributeField key={name} name={name} {...props} />
        ))}
      </div>
      <p class="hint">
        Access tokens can be limited to these four, for example to one environment.
      </p>
    </>
  );
}

/** When a version expires, and what that means. */
export function ExpiryField({ initial, failure }: MetadataFieldsProps): VNode {
  const days = initialText(initial, "expiration_time");
  return (
    <TextField
      label="Expires after (days)"
      name="metadata.expiration_time"
      type="number"
      min="0"
      max={String(Math.max(MAX_DAYS, Number(days)))}
      step="1"
      required
      defaultValue={days}
      hint={EXPIRY_HINT}
      failure={failure}
    />
  );
}

export function DescriptionField({ initial, failure }: MetadataFieldsProps): VNode {
  return (
    <TextField
      label="Description"
      name="metadata.description"
      defaultValue={initialText(initial, "description")}
      autocomplete="off"
      failure={failure}
    />
  );
}

/** Fields for the metadata of a version; `readMetadata` reads them. */
export function MetadataFields(props: MetadataFieldsProps): VNode {
  return (
    <>
      <DescriptionField {...props} />
      <ExpiryField {...props} />
      <AttributeFields {...props} />
      <CustomMetadata initial={props.initial} />
    </>
  );
}
