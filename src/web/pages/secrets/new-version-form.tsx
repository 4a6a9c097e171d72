import type { VNode } from "preact";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { AreaField } from "../../parts/field.tsx";
import { Form } from "../../parts/form.tsx";
import { formText } from "../../parts/form-text.ts";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { addVersion, type SecretAccess } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";

interface NewVersionFormProps {
  readonly access: SecretAccess;
  readonly onAdded: (secret: SecretRecord) => Promise<void>;
  readonly onCancel?: () => void;
}

/** Adds a version to a secret. */
export function NewVersionForm({ access, onAdded, onCancel }: NewVersionFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const secret = await addVersion(client, access, formText(form, "key_value"));
    form.reset();
    toast(`Added version ${secret.key_version} of ${secret.key_name}.`);
    await onAdded(secret);
  };
  return (
    <Form action={action} submit="Add version" icon="key" work={work} {...(onCancel && { onCancel })}>
      <AreaField label="New value" name="key_value" code rows={4} hint="Earlier versions are kept." failure={action.failure} />
    </Form>
  );
}
