import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { TextField, ChoiceField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { Disclosure } from "../../parts/disclosure.tsx";
import { useFinish, useAction } from "../../parts/use-action.ts";
import { useToast } from "../../parts/toasts.tsx";
import { hrefOf } from "../../routing/route.ts";
import { navigate } from "../../routing/use-route.ts";
import type { Metadata } from "../../../../protocol/metadata.ts";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import { createSecret, type NewSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/visible-text.ts";
import { CustomMetadata } from "./custom-metadata.tsx";
import { environmentIn, placeIn, wantedIn } from "./list-view.ts";
import { AttributeFields, DescriptionField, ExpiryField } from "./metadata-fields.tsx";
import { defaultMetadata, readMetadata } from "./read-metadata.ts";
import { readSecretName } from "./secret-name.ts";
import { useKnownSecrets, useSecrets, type Draft } from "./secrets-context.ts";
import {
  readValue,
  unchangedValue,
  useValueInput,
  ValueField,
  type ValueInput,
} from "./value-field.tsx";

/** Number and unit of the time until a secret is deleted; `readDelay` reads them. */
function DelayFields({ failure }: { readonly failure: RequestError | undefined }): VNode {
  return (
    <div class="field-grid">
      <TextField
        label="Delete after"
        name="delete_time"
        type="number"
        min="1"
        max="100000"
        step="1"
        placeholder="never"
        hint="Deletes the secret for everyone it is shared with. Expiry, in contrast, deletes nothing."
        failure={failure}
      />
      <ChoiceField label="Unit" name="delete_unit">
        <option value="1">minutes</option>
        <option value="60">hours</option>
        <option value="1440" selected>
          days
        </option>
      </ChoiceField>
    </div>
  );
}

/** Returns the minutes of `DelayFields`, undefined for never. */
function readDelay(form: HTMLFormElement): number | undefined {
  const amount = formText(form, "delete_time");
  return amount === "" ? undefined : Number(amount) * Number(formText(form, "delete_unit"));
}

/** Value of the button that keeps the form open. */
const ANOTHER = "another";

const VALUE_HINT = "Spaces are kept. Line ends are stored as LF; a file is stored byte for byte.";

function nameTaken(name: string): RequestError {
  const message = `You already have a secret named “${name}”. Nothing was stored.`;
  return new RequestError("name_taken", message, 0, [
    { path: "key_name", reason: "Already exists: choose another name." },
  ]);
}

function readSecret(form: HTMLFormElement, input: ValueInput): NewSecret {
  const minutes = readDelay(form);
  return {
    key_name: readSecretName(formText(form, "key_name")),
    key_value: readValue(input),
    metadata: readMetadata(form, defaultMetadata).metadata,
    ...(minutes !== undefined && { delete_time: minutes }),
  };
}

/** Place in which a new secret starts: its folder and its environment. */
interface Place {
  /** Start of the name, up to a slash, or the whole name; may be empty. */
  readonly prefix: string;
  readonly metadata: Metadata;
  /** Takes the environment that the name starts with: `prod` of `prod/shop`. */
  readonly onName: (name: string) => void;
}

/** Returns the place in the query, or the one that the list showed last. */
function usePlace(query: string, draft: Draft | undefined): Place {
  const secrets = useKnownSecrets();
  const { listQuery } = useSecrets();
  const [{ prefix, environment }] = useState(() => wantedIn(query) ?? placeIn(listQuery.current));
  const [named, setNamed] = useState<string | undefined>(undefined);
  const chosen = named ?? environment;
  const metadata = useMemo(() => {
    if (draft) return { ...defaultMetadata, ...draft.metadata };
    return chosen === "" ? defaultMetadata : { ...defaultMetadata, environment_type: chosen };
  }, [chosen, draft]);
  const onName = (name: string): void => setNamed(environmentIn(name, secrets));
  return { prefix: draft ? `${draft.key_name}-copy` : prefix, metadata, onName };
}

/** Returns the secret to copy, for the form that opens next and for no later one. */
function useDraft(): Draft | undefined {
  const { draft } = useSecrets();
  const [taken] = useState(draft.current);
  useEffect(() => void (draft.current = undefined), [draft]);
  return taken;
}

/** Empties the form for another secret in the same folder, with the same metadata. */
function startAnother(form: HTMLFormElement, input: ValueInput): void {
  input.setFile(undefined);
  for (const field of form.elements) {
    if (field instanceof HTMLTextAreaElement) {
      field.value = "";
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (!(field instanceof HTMLInputElement)) continue;
    if (field.name === "key_name") {
      field.value = field.value.slice(0, field.value.lastIndexOf("/") + 1);
      field.focus();
    }
    field.defaultValue = field.value;
  }
}

/** Returns a function that creates a secret. @throws RequestError `name_taken` */
function useCreation(): (secret: NewSecret) => Promise<void> {
  const client = useClient();
  const { list } = useSecrets();
  const { email } = client;
  return async (secret) => {
    const { key_name: name } = secret;
    const known = list.loaded.kind === "ready" ? list.loaded.value : [];
    // The value is not sent for a name that is known to be in use; the vault decides for the
    // others.
    if (known.some((each) => each.key_name === name && each.owner === email)) throw nameTaken(name);
    await createSecret(client, secret).catch((error: unknown) => {
      const inUse = ["version_changed", "use_link_operation"].includes(toRequestError(error).code);
      throw inUse ? nameTaken(name) : error;
    });
  };
}

/**
 * Creates a secret of a name that is not in use. `query` has the name and the environment to start
 * with, or is empty.
 */
export function NewSecretForm({ query }: { readonly query: string }): VNode {
  const { email } = useClient();
  const create = useCreation();
  const finish = useFinish();
  const toast = useToast();
  const { list, listQuery } = useSecrets();
  const draft = useDraft();
  const place = usePlace(query, draft);
  const action = useAction();
  const input = useValueInput(
    false,
    draft && unchangedValue(`Value of ${draft.key_name}`, draft.key_value),
  );
  const [taken, setTaken] = useState<string | undefined>(undefined);
  const work = async (form: HTMLFormElement, button: string): Promise<void> => {
    setTaken(undefined);
    const secret = readSecret(form, input);
    const { key_name: name } = secret;
    try {
      await create(secret);
    } catch (error) {
      if (toRequestError(error).code === "name_taken") setTaken(name);
      throw error;
    }
    await list.reload();
    const short = shortened(name);
    if (button === ANOTHER) {
      toast(`Created ${short}.`);
      startAnother(form, input);
      return;
    }
    finish(`Created ${short}.`, { page: "secret", owner: email, name }, `Open ${short}`);
  };
  const { failure } = action;
  const metadata = { initial: place.metadata, failure };
  return (
    <Form
      action={action}
      submit="Create secret"
      icon="key"
      further={{ label: "Create and add another", value: ANOTHER }}
      work={work}
      onCancel={() => navigate({ page: "secrets", query: listQuery.current })}
    >
      <TextField
        label="Name"
        name="key_name"
        required
        initialFocus={query === ""}
        defaultValue={place.prefix}
        onInput={place.onName}
        autocomplete="off"
        spellcheck={false}
        failure={failure}
        {...(taken !== undefined && {
          hint: (
            <a href={hrefOf({ page: "secret", owner: email, name: taken })}>
              Open “{taken}” to add a version
            </a>
          ),
        })}
      />
      <ValueField
        label="Value"
        hint={VALUE_HINT}
        input={input}
        failure={failure}
        autofocus={query !== ""}
      />
      <DescriptionField {...metadata} />
      <ExpiryField {...metadata} />
      <AttributeFields {...metadata} />
      <Disclosure label="Custom metadata and automatic deletion" forced={draft !== undefined}>
        <CustomMetadata initial={place.metadata} />
        <DelayFields failure={failure} />
      </Disclosure>
    </Form>
  );
}
