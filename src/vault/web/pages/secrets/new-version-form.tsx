import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Form } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import { addVersion, createSecret, type SecretAccess } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/shortened.ts";
import { readValue, useValueInput, ValueField } from "./value-field.tsx";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";

interface NewVersionFormProps {
  /** The secret; its metadata is unknown to a user who may only write. */
  readonly access: SecretAccess & Partial<Pick<SecretRecord, "metadata">>;
  /** Number of the latest version that the page shows; unknown to a user who may only write. */
  readonly latest?: number;
  /** Reloads the page. */
  readonly onChange?: () => Promise<void>;
  readonly onClose?: () => void;
}

const VALUE_HINT =
  "Earlier versions are kept. Line ends are stored as LF; a file is stored byte for byte.";

/** Change of the secret since the form was opened. */
type Conflict = "changed" | "deleted";

const submitLabels = {
  none: "Add version",
  changed: "Add version anyway",
  deleted: "Create new secret",
} as const;

const conflictTexts = {
  changed:
    "The versions have changed meanwhile: see the list of versions. Your value is not stored yet.",
  deleted:
    "This secret was deleted meanwhile. Your value is not stored yet: it can become a new secret, which is not shared.",
} as const;

/**
 * Adds a version to a secret. When the secret has changed since the form was opened, it asks first.
 */
export function NewVersionForm({ access, latest, onChange, onClose }: NewVersionFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const input = useValueInput();
  const [seen] = useState(latest);
  const [conflict, setConflict] = useState<Conflict | undefined>(undefined);
  const { key_name: name, owner, metadata = {} } = access;
  const own = owner === client.email;
  const store = async (value: string): Promise<void> => {
    if (conflict === "deleted") {
      await createSecret(client, { key_name: name, key_value: value, metadata });
      toast(`Created ${shortened(name)}.`);
    } else {
      const expected = conflict === "changed" ? latest : seen;
      const { key_version: version } = await addVersion(client, access, value, expected);
      toast(`Added version ${version} of ${shortened(name)}.`);
    }
  };
  const work = async (form: HTMLFormElement): Promise<void> => {
    try {
      await store(readValue(input));
    } catch (error) {
      const { code } = toRequestError(error);
      const found =
        code === "version_changed"
          ? "changed"
          : code === "secret_not_found" && own
            ? "deleted"
            : undefined;
      if (!found) throw error;
      setConflict(found);
      await onChange?.();
      throw new RequestError(code, conflictTexts[found]);
    }
    form.reset();
    input.setFile(undefined);
    setConflict(undefined);
    await onChange?.();
    onClose?.();
  };
  return (
    <Form
      action={action}
      submit={submitLabels[conflict ?? "none"]}
      icon="key"
      work={work}
      {...(onClose && { onCancel: onClose })}
    >
      <ValueField
        label="New value"
        hint={VALUE_HINT}
        input={input}
        failure={action.failure}
        autofocus={onClose !== undefined}
      />
    </Form>
  );
}

interface NewVersionSectionProps {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}

/** Button that opens the form for a new version. */
export function NewVersionSection({ secret, onChange }: NewVersionSectionProps): VNode {
  const [open, setOpen] = useState(false);
  if (!open) {
    return (
      <div class="buttons">
        <button class="button primary" type="button" onClick={() => setOpen(true)}>
          <Icon name="plus" />
          New version
        </button>
      </div>
    );
  }
  const close = (): void => setOpen(false);
  return (
    <section class="card" aria-label="New version">
      <NewVersionForm
        access={secret}
        latest={secret.key_version}
        onChange={onChange}
        onClose={close}
      />
    </section>
  );
}
