import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";
import { addVersion, exposeVersion } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { ValueComparison } from "./value-comparison.tsx";

interface MakeCurrentProps {
  readonly version: SecretRecord;
  readonly latest: SecretRecord;
  readonly onChange: () => Promise<void>;
  readonly onClose: () => void;
}

/**
 * Asks, then adds a version with the value of an earlier one. The values enter the page only for a
 * comparison.
 */
export function MakeCurrentDialog({ version, latest, onChange, onClose }: MakeCurrentProps): VNode {
  const client = useClient();
  const toast = useToast();
  const action = useAction();
  const work = async (): Promise<void> => {
    const { key_value: value } = await exposeVersion(client, version, version.key_version);
    const added = await addVersion(client, latest, value, latest.key_version);
    toast(`Version ${added.key_version} has the value of version ${version.key_version}.`);
    await onChange();
    onClose();
  };
  return (
    <Dialog title={`Make version ${version.key_version} current?`} onClose={onClose}>
      <Form action={action} submit="Make current" work={work} onCancel={onClose}>
        <p>
          Adds a version with the value of version {version.key_version}, which everyone with access
          gets from then on. Version {latest.key_version} stays in the list, and the metadata stays
          that of version {latest.key_version}.
        </p>
        <ValueComparison version={version} latest={latest} />
      </Form>
    </Dialog>
  );
}
