import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { Metadata } from "../../../../protocol/metadata.ts";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { metadataText, metadataLabel } from "../../text/metadata-text.ts";
import { MetadataDialog } from "./metadata-dialog.tsx";
import { defaultMetadata, isStandardName } from "./read-metadata.ts";

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
