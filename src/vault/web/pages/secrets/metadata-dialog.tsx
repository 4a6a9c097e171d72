import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Metadata } from "../../../../protocol/metadata.ts";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { RequestError, toRequestError } from "../../service/request-error.ts";
import { updateMetadata, type MetadataChanges } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { MetadataFields } from "./metadata-fields.tsx";
import { readMetadata } from "./read-metadata.ts";

function withChanges(
  { metadata: base }: SecretRecord,
  { metadata, removed }: MetadataChanges,
): Metadata {
  const kept = Object.entries(base).filter(([name]) => !removed.includes(name));
  return Object.fromEntries([...kept, ...Object.entries(metadata)]);
}

interface MetadataFormProps {
  readonly secret: SecretRecord;
  /** Metadata that the fields start with. */
  readonly draft: Metadata;
  readonly latest: SecretRecord;
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
  /** Edits the latest version instead, with the changes that were not saved. */
  readonly onEditLatest: (changes: MetadataChanges) => void;
}

function MetadataForm({
  secret,
  draft,
  latest,
  onChange,
  onClose,
  onEditLatest,
}: MetadataFormProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const [rejected, setRejected] = useState<MetadataChanges | undefined>(undefined);
  const save = async (changes: MetadataChanges): Promise<void> => {
    try {
      await updateMetadata(client, secret, changes);
    } catch (error) {
      if (toRequestError(error).code !== "version_changed") throw error;
      setRejected(changes);
      await onChange();
      throw new RequestError(
        "version_changed",
        `Another version is the latest one by now, and its metadata is what counts. Nothing is saved to version ${secret.key_version}.`,
      );
    }
    toast("Saved metadata.");
    await onChange();
  };
  const work = async (form: HTMLFormElement): Promise<void> => {
    const changes = readMetadata(form, secret.metadata);
    if (Object.keys(changes.metadata).length + changes.removed.length > 0) await save(changes);
    onClose();
  };
  return (
    <Form action={action} submit="Save" work={work} onCancel={onClose}>
      <MetadataFields initial={draft} failure={action.failure} />
      {rejected && latest !== secret && (
        <div class="buttons">
          <button class="button primary" type="button" onClick={() => onEditLatest(rejected)}>
            Edit version {latest.key_version} instead
          </button>
        </div>
      )}
    </Form>
  );
}

interface MetadataDialogProps {
  /** Version that the user opened. */
  readonly edited: SecretRecord;
  /** Latest version that the page shows. */
  readonly latest: SecretRecord;
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

/**
 * Edits the metadata of the latest version. When there is a newer one by then, nothing is saved and
 * the user decides.
 */
export function MetadataDialog({ edited, ...props }: MetadataDialogProps): VNode {
  const { latest, onClose } = props;
  const [{ secret, draft }, setBase] = useState({ secret: edited, draft: edited.metadata });
  const editLatest = (changes: MetadataChanges): void =>
    setBase({ secret: latest, draft: withChanges(latest, changes) });
  const version = secret.key_version;
  return (
    <Dialog title={`Metadata of version ${version}`} onClose={onClose}>
      <MetadataForm
        key={version}
        secret={secret}
        draft={draft}
        onEditLatest={editLatest}
        {...props}
      />
    </Dialog>
  );
}
