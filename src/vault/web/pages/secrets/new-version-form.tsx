import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Form } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { writeQuery, navigate } from "../../routing/use-route.ts";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import {
  addVersion,
  createSecret,
  exposeLatest,
  type SecretAccess,
} from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/visible-text.ts";
import { readValue, useValueInput, ValueField, type ValueInput } from "./value-field.tsx";
import type { ExposedSecret, SecretRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { FailureNote } from "../../parts/notes.tsx";
import { lineEndOf } from "../../text/value-format.ts";
import { ManifestButton } from "../kubernetes/manifest-button.tsx";
import { RenameButton } from "./rename-button.tsx";
import { Difference } from "./difference.tsx";
import { useSecrets } from "./secrets-context.ts";

/** Starts a new secret with the value and the metadata of this one. The value is not shown. */
function DuplicateButton({ secret }: { readonly secret: SecretRecord }): VNode {
  const client = useClient();
  const { draft } = useSecrets();
  const toast = useToast();
  const action = useAction();
  const duplicate = (): void =>
    void action.run(async () => {
      try {
        draft.current = await exposeLatest(client, secret);
        navigate({ page: "new-secret" });
      } catch (error) {
        toast(toRequestError(error).message, "bad");
      }
    });
  return (
    <button class="button" type="button" onClick={duplicate} aria-disabled={action.busy}>
      <Icon name="copy" />
      Duplicate
    </button>
  );
}

interface NewVersionFormProps {
  /** The secret; its metadata is unknown to a user who may only write. */
  readonly access: SecretAccess & Partial<Pick<SecretRecord, "metadata">>;
  /** Number of the latest version that the page shows; unknown to a user who may only write. */
  readonly latest?: number;
  /** The current value to edit; without it, the value is a new one. */
  readonly edited?: ExposedSecret | undefined;
  /** Reloads the page. */
  readonly onChange?: () => Promise<void>;
  readonly onClose?: () => void;
}

const VALUE_HINT =
  "Earlier versions are kept. Line ends are stored as LF; a file is stored byte for byte.";

/** Returns the value of the form; an edited text keeps its line ends. */
function readEdited(input: ValueInput, edited: ExposedSecret | undefined): string {
  const value = readValue(input);
  const isCrLf = !input.file && edited && lineEndOf(edited.key_value) === "\r\n";
  return isCrLf ? value.replaceAll("\n", "\r\n") : value;
}

const EDIT_HINT = "Earlier versions are kept. Line ends stay LF or CRLF.";

/** Returns a text with the line ends of a text field. */
function withoutReturns(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/** Change of the secret since the form was opened. */
type Conflict = "changed" | "deleted";

const submitLabels = {
  none: "Add version",
  edit: "Save as a new version",
  changed: "Add version anyway",
  deleted: "Create new secret",
} as const;

const conflictTexts = {
  changed:
    "The versions have changed meanwhile: see the list of versions. Your value is not stored yet.",
  deleted:
    "This secret was deleted meanwhile. Your value is not stored yet: it can become a new secret, which is not shared.",
} as const;

interface VersionStore {
  readonly conflict: Conflict | undefined;
  /** The value that an edit replaces: after a conflict, the value of the other user. */
  readonly base: ExposedSecret | undefined;
  /** @throws RequestError after a conflict; then `store` again decides it */
  readonly store: (value: string) => Promise<void>;
}

type VersionStoreProps = Pick<NewVersionFormProps, "access" | "latest" | "edited" | "onChange">;

/** Stores a value after the version that the user has seen. */
function useVersionStore({ access, latest, edited, onChange }: VersionStoreProps): VersionStore {
  const client = useClient();
  const toast = useToast();
  const [seen] = useState(latest);
  const [base, setBase] = useState(edited);
  const [conflict, setConflict] = useState<Conflict | undefined>(undefined);
  const { key_name: name, owner, metadata = {} } = access;
  const send = async (value: string): Promise<void> => {
    if (conflict === "deleted") {
      await createSecret(client, { key_name: name, key_value: value, metadata });
      toast(`Created ${shortened(name)}.`);
    } else {
      const expected = base?.key_version ?? (conflict === "changed" ? latest : seen);
      const { key_version: version } = await addVersion(client, access, value, expected);
      toast(`Added version ${version} of ${shortened(name)}.`);
    }
  };
  const conflictOf = (code: string): Conflict | undefined => {
    if (code === "version_changed") return "changed";
    return code === "secret_not_found" && owner === client.email ? "deleted" : undefined;
  };
  const store = async (value: string): Promise<void> => {
    try {
      await send(value);
      setConflict(undefined);
    } catch (error) {
      const { code } = toRequestError(error);
      const found = conflictOf(code);
      if (!found) throw error;
      setConflict(found);
      await onChange?.();
      if (base && found === "changed") setBase(await exposeLatest(client, access));
      throw new RequestError(code, conflictTexts[found]);
    }
  };
  return { conflict, base, store };
}

/**
 * Adds a version to a secret. When the secret has changed since the form was opened, it asks first.
 */
export function NewVersionForm(props: NewVersionFormProps): VNode {
  const { edited, onChange, onClose } = props;
  const action = useAction();
  const input = useValueInput(edited !== undefined);
  const { conflict, base, store } = useVersionStore(props);
  const initial = edited && withoutReturns(edited.key_value);
  const [text, setText] = useState(initial ?? "");
  const work = async (form: HTMLFormElement): Promise<void> => {
    const value = readEdited(input, edited);
    if (!conflict && value === edited?.key_value)
      throw new RequestError("unchanged", "The value is unchanged. Nothing was stored.");
    await store(value);
    form.reset();
    input.setFile(undefined);
    await onChange?.();
    onClose?.();
  };
  return (
    <Form
      action={action}
      submit={submitLabels[conflict ?? (edited ? "edit" : "none")]}
      icon="key"
      work={work}
      {...(onClose && { onCancel: onClose })}
    >
      <ValueField
        label={edited ? `Value of version ${edited.key_version}` : "New value"}
        hint={edited ? EDIT_HINT : VALUE_HINT}
        input={input}
        failure={action.failure}
        autofocus={onClose !== undefined}
        initial={initial}
        onText={setText}
      />
      {base && (
        <Difference
          before={withoutReturns(base.key_value)}
          after={withoutReturns(input.file?.text ?? text)}
          equal="Unchanged."
          concealed={!input.shown && !input.file}
        />
      )}
    </Form>
  );
}

interface NewVersionSectionProps {
  readonly secret: SecretRecord;
  /** Opens the current value to edit it, the first time it is true. */
  readonly edits: boolean;
  readonly onChange: () => Promise<void>;
}

/**
 * Buttons that open the form for a new version, empty or with the current value; without them for a
 * user who may only read. An open form stays when the permission is narrowed.
 */
export function NewVersionSection({ secret, edits, onChange }: NewVersionSectionProps): VNode {
  const client = useClient();
  const action = useAction();
  const [form, setForm] = useState<{ readonly edited?: ExposedSecret } | undefined>(undefined);
  const opener = useRef<"edit" | "new" | undefined>(undefined);
  const buttons = { edit: useRef<HTMLButtonElement>(null), new: useRef<HTMLButtonElement>(null) };
  useEffect(() => {
    // The button was not in the page while the form was.
    if (!form && opener.current) buttons[opener.current].current?.focus();
  }, [form]);
  const edit = (): void =>
    void action.run(async () => {
      opener.current = "edit";
      const edited = await exposeLatest(client, secret);
      if (lineEndOf(edited.key_value) === undefined) {
        throw new RequestError(
          "different_line_ends",
          "The value has different line ends, and a text field would make them equal. Use New version, with a file.",
        );
      }
      setForm({ edited });
    });
  useEffect(() => {
    if (!edits) return;
    // Only once: a reload of the page shows the secret.
    writeQuery({ page: "secret", owner: secret.owner, name: secret.key_name }, false);
    if (secret.permission === "RW") edit();
  }, [edits]);
  if (!form) {
    return (
      <div class="stack">
        <div class="buttons">
          {secret.permission === "RW" && (
            <button
              ref={buttons.edit}
              class="button primary"
              type="button"
              aria-disabled={action.busy}
              onClick={edit}
            >
              <Icon name="edit" />
              Edit value
            </button>
          )}
          {secret.permission !== "R" && (
            <button
              ref={buttons.new}
              class="button"
              type="button"
              onClick={() => {
                opener.current = "new";
                setForm({});
              }}
            >
              <Icon name="plus" />
              New version
            </button>
          )}
          {secret.permission !== "W" && (
            <>
              <ManifestButton subject={{ kind: "secrets", secrets: [secret] }} />
              <DuplicateButton secret={secret} />
              {secret.owner === client.email && <RenameButton secret={secret} />}
            </>
          )}
        </div>
        <FailureNote failure={action.failure} />
      </div>
    );
  }
  return (
    <section class="card" aria-label="New version">
      <NewVersionForm
        access={secret}
        latest={secret.key_version}
        edited={form.edited}
        onChange={onChange}
        onClose={() => setForm(undefined)}
      />
    </section>
  );
}
