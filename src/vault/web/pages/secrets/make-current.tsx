import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { exposeVersion, addVersion } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { Comparison } from "./compare-versions.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";

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
          gets from then on. Version {latest.key_version} stays in the list, and its metadata stays.
        </p>
        <Comparison
          before={latest}
          after={version}
          show={`Compare with version ${latest.key_version}`}
        />
      </Form>
    </Dialog>
  );
}
