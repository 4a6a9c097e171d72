import type { VNode } from "preact";
import { AreaField, TextField } from "../../parts/field.tsx";
import { Form } from "../../parts/form.tsx";
import { formText } from "../../parts/form-text.ts";
import { PageHeading } from "../../parts/page-heading.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { hrefOf } from "../../routing/route.ts";
import { navigate } from "../../routing/use-route.ts";
import { RequestError } from "../../service/request-error.ts";
import { createSecret, listSecrets, type NewSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { MetadataFields } from "./metadata-fields.tsx";
import { DelayFields, readDelay } from "./delay-fields.tsx";
import { defaultMetadata, readMetadata } from "./read-metadata.ts";
import { useSecrets } from "./secrets-context.ts";

function nameTaken(name: string): RequestError {
  const message = `You already have a secret named “${name}”. Open it to add a version.`;
  return new RequestError("name_taken", message, 0, [{ path: "key_name", reason: "already exists" }]);
}

function readSecret(form: HTMLFormElement): NewSecret {
  const minutes = readDelay(form);
  return {
    key_name: formText(form, "key_name"),
    key_value: formText(form, "key_value"),
    metadata: readMetadata(form, defaultMetadata).metadata,
    ...(minutes !== undefined && { delete_time: minutes }),
  };
}

export function NewSecretPage(): VNode {
  const client = useClient();
  const toast = useToast();
  const { list } = useSecrets();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const secret = readSecret(form);
    const own = (await listSecrets(client)).some(({ key_name, owner }) => key_name === secret.key_name && owner === client.email);
    if (own) throw nameTaken(secret.key_name);
    const { key_name: name, owner } = await createSecret(client, secret);
    await list.reload();
    toast(`Created ${name}.`);
    navigate({ page: "secret", owner, name });
  };
  return (
    <>
      <PageHeading title="New secret" />
      <div class="card narrow">
        <Form action={action} submit="Create secret" icon="key" work={work} onCancel={() => navigate({ page: "secrets" })}>
          <TextField
            label="Name"
            name="key_name"
            required
            maxLength={512}
            autocomplete="off"
            spellcheck={false}
            failure={action.failure}
          />
          <AreaField
            label="Value"
            name="key_value"
            code
            rows={4}
            hint="Stored exactly as entered, including spaces and line breaks."
            failure={action.failure}
          />
          <details class="more">
            <summary>Metadata and lifetime</summary>
            <MetadataFields initial={defaultMetadata} failure={action.failure} />
            <DelayFields failure={action.failure} />
          </details>
        </Form>
      </div>
      <p>
        <a href={hrefOf({ page: "secrets" })}>Back to all secrets</a>
      </p>
    </>
  );
}
