import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Icon } from "../../parts/icon.tsx";
import { NewVersionForm } from "./new-version-form.tsx";

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
