import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Metadata } from "../../../../protocol/metadata.ts";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { metadataText, metadataLabel } from "../../text/metadata-text.ts";
import { defaultMetadata, isStandardName, readMetadata } from "./read-metadata.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { Icon } from "../../parts/icon.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { toRequestError } from "../../service/request-error.ts";
import { updateMetadata, type MetadataChanges } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { MetadataFields } from "./metadata-fields.tsx";

function withChanges(
  { metadata: base }: SecretRecord,
  { metadata, removed }: MetadataChanges,
): Metadata {
  const kept = Object.entries(base).filter(([name]) => !removed.includes(name));
  return Object.fromEntries([...kept, ...Object.entries(metadata)]);
}

interface NewerVersionProps {
  readonly edited: number;
  readonly latest: number;
  /** Edits the latest version. */
  readonly onEdit: () => void;
}

/** Says above the fields why nothing is saved, and what to do. */
function NewerVersion({ edited, latest, onEdit }: NewerVersionProps): VNode {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => button.current?.focus(), []);
  return (
    <div class="note bad" role="alert">
      <Icon name="warning" />
      <div class="stack">
        <p>
          Another version is the latest one by now, and its metadata is what counts. Nothing is
          saved to version {edited}.
        </p>
        <button ref={button} class="button primary" type="button" onClick={onEdit}>
          Edit version {latest} instead
        </button>
      </div>
    </div>
  );
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
      throw error;
    }
    toast("Saved metadata.");
    await onChange();
  };
  const work = async (form: HTMLFormElement): Promise<void> => {
    const changes = readMetadata(form, secret.metadata);
    if (Object.keys(changes.metadata).length + changes.removed.length > 0) await save(changes);
    onClose();
  };
  const newer = rejected && latest !== secret;
  return (
    <Form
      action={newer ? { ...action, failure: undefined } : action}
      submit="Save"
      work={work}
      onCancel={onClose}
    >
      {newer && (
        <NewerVersion
          edited={secret.key_version}
          latest={latest.key_version}
          onEdit={() => onEditLatest(rejected)}
        />
      )}
      <MetadataFields initial={draft} failure={action.failure} />
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
function MetadataDialog({ edited, ...props }: MetadataDialogProps): VNode {
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

interface MetadataSectionProps {
  readonly secret: SecretRecord;
  readonly onChange: () => Promise<void>;
}

/** Text of the vault for a description that no user wrote. */
const NO_DESCRIPTION = "n/a";

function MetadataValue({ name, value }: { readonly name: string; readonly value: unknown }): VNode {
  if (name === "expiration_time")
    return <>{value === 1 ? "1 day" : `${metadataText(value)} days`}</>;
  if (name === "description" && (value === NO_DESCRIPTION || value === ""))
    return <span class="quiet">None</span>;
  return <>{metadataText(value)}</>;
}

/** Returns the standard names in the order of the form, then the remaining ones. */
function inOrder(metadata: Metadata): [string, unknown][] {
  const standard = Object.keys(defaultMetadata).filter((name) => Object.hasOwn(metadata, name));
  const custom = Object.keys(metadata).filter((name) => !isStandardName(name));
  return [...standard, ...custom].map((name) => [name, metadata[name]]);
}

/** Metadata of the latest version, editable with write permission. */
export function MetadataSection({ secret, onChange }: MetadataSectionProps): VNode {
  const [edited, setEdited] = useState<SecretRecord | undefined>(undefined);
  return (
    <section class="card" aria-labelledby="metadata-title">
      <div class="card-head">
        <h2 id="metadata-title">Metadata</h2>
        {secret.permission !== "R" && (
          <button class="button" type="button" onClick={() => setEdited(secret)}>
            Edit metadata
          </button>
        )}
      </div>
      <dl class="facts">
        {inOrder(secret.metadata).map(([name, value]) => (
          <div key={name}>
            <dt>{metadataLabel(name)}</dt>
            <dd>
              <MetadataValue name={name} value={value} />
            </dd>
          </div>
        ))}
      </dl>
      {edited && (
        <MetadataDialog
          edited={edited}
          latest={secret}
          onChange={onChange}
          onClose={() => setEdited(undefined)}
        />
      )}
    </section>
  );
}
