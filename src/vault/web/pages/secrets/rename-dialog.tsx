import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { TextField } from "../../parts/field.tsx";
import { Form, formText } from "../../parts/form.tsx";
import { useAction, useFinish } from "../../parts/use-action.ts";
import { renameSecret } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { shortened } from "../../text/visible-text.ts";
import { readSecretName } from "./secret-name.ts";
import { useSecrets } from "./secrets-context.ts";

export interface RenameDialogProps {
  readonly secret: SecretRecord;
  readonly onClose: () => void;
}

/** Gives an own secret another name. */
export function RenameDialog({ secret, onClose }: RenameDialogProps): VNode {
  const client = useClient();
  const action = useAction();
  const finish = useFinish();
  const { list } = useSecrets();
  const rename = async (form: HTMLFormElement): Promise<void> => {
    const name = readSecretName(formText(form, "key_name"));
    const { owner } = await renameSecret(client, secret, name);
    await list.reload();
    finish(`Renamed to ${shortened(name)}.`, { page: "secret", owner, name }, "Open");
  };
  return (
    <Dialog title="Rename secret" onClose={onClose}>
      <Form action={action} submit="Rename" work={rename} onCancel={onClose}>
        <TextField
          label="Name"
          name="key_name"
          required
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          autofocus
          defaultValue={secret.key_name}
          failure={action.failure}
        />
        <p class="quiet">
          Versions, metadata and recipients stay. Programs, clusters and tokens that use the former
          name find nothing under it.
        </p>
      </Form>
    </Dialog>
  );
}
