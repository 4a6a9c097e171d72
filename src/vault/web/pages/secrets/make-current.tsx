import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { FailureNote } from "../../parts/notes.tsx";
import { exposeVersion, addVersion } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { lineDiff } from "../../text/line-diff.ts";
import { RevealButton } from "./reveal-button.tsx";
import { useRevealed } from "./use-revealed.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { useToast } from "../../parts/toasts.tsx";
import { useAction } from "../../parts/use-action.ts";

interface ValueComparisonProps {
  readonly version: SecretRecord;
  readonly latest: SecretRecord;
}

const signs = { same: " ", removed: "−", added: "+" } as const;

function Difference({ before, after }: { readonly before: string; readonly after: string }): VNode {
  if (before === after) return <p role="status">The values are equal.</p>;
  return (
    <pre class="value shown diff" tabIndex={0} role="status" aria-label="Difference">
      {lineDiff(before, after).map(({ kind, text }, at) => (
        <span key={at} class={kind}>
          {signs[kind]} {text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

/**
 * Shows on request what an earlier version would change in the value of the latest one, as long as
 * a revealed value.
 */
function ValueComparison({ version, latest }: ValueComparisonProps): VNode {
  const client = useClient();
  const valueOf = async (of: SecretRecord): Promise<string> =>
    (await exposeVersion(client, of, of.key_version)).key_value;
  const revealed = useRevealed(async () => ({
    before: await valueOf(latest),
    after: await valueOf(version),
  }));
  return (
    <div class="stack">
      {revealed.value && <Difference {...revealed.value} />}
      <FailureNote failure={revealed.action.failure} />
      <div class="buttons">
        <RevealButton
          revealed={revealed}
          show={`Compare with version ${latest.key_version}`}
          hide="Hide the comparison"
        />
      </div>
    </div>
  );
}

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
        <ValueComparison version={version} latest={latest} />
      </Form>
    </Dialog>
  );
}
