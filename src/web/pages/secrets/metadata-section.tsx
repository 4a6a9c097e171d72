import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SecretRecord } from "../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { updateMetadata } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { metadataText } from "../../text/metadata-text.ts";
import { MetadataFields } from "./metadata-fields.tsx";
import { readMetadata } from "./read-metadata.ts";

interface MetadataSectionProps {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}

function MetadataDialog({ secret, onChange, onClose }: MetadataSectionProps & { readonly onClose: () => void }): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (form: HTMLFormElement): Promise<void> => {
    const changes = readMetadata(form, secret.metadata);
    if (Object.keys(changes).length > 0) {
      await updateMetadata(client, secret, changes);
      toast("Saved metadata.");
      await onChange();
    }
    onClose();
  };
  return (
    <Dialog title={`Metadata of version ${secret.key_version}`} onClose={onClose}>
      <Form action={action} submit="Save" work={work} onCancel={onClose}>
        <MetadataFields initial={secret.metadata} failure={action.failure} />
      </Form>
    </Dialog>
  );
}

/** Metadata of the latest version, editable with write permission. */
export function MetadataSection({ secret, onChange }: MetadataSectionProps): VNode {
  const [editing, setEditing] = useState(false);
  return (
    <section class="card" aria-labelledby="metadata-title">
      <div class="card-head">
        <h2 id="metadata-title">Metadata</h2>
        {secret.permission !== "R" && (
          <button class="button" type="button" onClick={() => setEditing(true)}>
            Edit metadata
          </button>
        )}
      </div>
      <dl class="facts">
        {Object.entries(secret.metadata).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{metadataText(value)}</dd>
          </div>
        ))}
      </dl>
      {editing && <MetadataDialog secret={secret} onChange={onChange} onClose={() => setEditing(false)} />}
    </section>
  );
}
