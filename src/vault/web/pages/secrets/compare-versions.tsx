import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { SecretRecord, VersionRecord } from "../../../../protocol/responses.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { SelectField } from "../../parts/field.tsx";
import { FailureNote } from "../../parts/notes.tsx";
import { exposeVersion } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { Difference } from "./difference.tsx";
import { useRevealed, RevealButton } from "./revealed.tsx";

interface ComparisonProps {
  readonly before: SecretRecord;
  readonly after: SecretRecord;
  /** Label of the button that fetches the values. */
  readonly show: string;
  /** Fetches the values when it is opened. */
  readonly immediately?: boolean;
}

/** Shows how the values of two versions differ, as long as a revealed value. */
export function Comparison({ before, after, show, immediately = false }: ComparisonProps): VNode {
  const client = useClient();
  const valueOf = async (of: SecretRecord): Promise<string> =>
    (await exposeVersion(client, of, of.key_version)).key_value;
  const revealed = useRevealed(async () => ({
    before: await valueOf(before),
    after: await valueOf(after),
  }));
  const { reveal } = revealed;
  // Only when it is opened: a hidden value stays hidden.
  useEffect(() => {
    if (immediately) reveal();
  }, []);
  return (
    <div class="stack">
      {revealed.value && <Difference {...revealed.value} equal="The values are equal." />}
      <FailureNote failure={revealed.action.failure} />
      <div class="buttons">
        <RevealButton revealed={revealed} show={show} hide="Hide the comparison" />
      </div>
    </div>
  );
}

interface CompareDialogProps {
  /** The newest first. */
  readonly versions: readonly VersionRecord[];
  /** Number of the version to compare with the one before it. */
  readonly number: number;
  readonly onClose: () => void;
}

/** Compares any two versions of a secret. */
export function CompareDialog({ versions, number, onClose }: CompareDialogProps): VNode {
  const numbers = versions.map(({ key_version: each }) => String(each)).toReversed();
  const [[from = "", to = ""], setPair] = useState(() => {
    const at = Math.max(1, numbers.indexOf(String(number)));
    return numbers.slice(at - 1, at + 1);
  });
  const find = (text: string): VersionRecord | undefined =>
    versions.find(({ key_version: each }) => String(each) === text);
  const [before, after] = [find(from), find(to)];
  const choice = { choices: numbers, labelOf: (each: string) => `Version ${each}` };
  return (
    <Dialog title="Compare versions" onClose={onClose}>
      <div class="form">
        <div class="buttons">
          <SelectField
            {...choice}
            label="From version"
            value={from}
            onChoice={(each) => setPair([each, to])}
          />
          <SelectField
            {...choice}
            label="To version"
            value={to}
            onChoice={(each) => setPair([from, each])}
          />
        </div>
        {before && after && (
          <Comparison
            key={`${from} ${to}`}
            before={before}
            after={after}
            show="Show the comparison"
            immediately
          />
        )}
        <div class="form-buttons">
          <button class="button" type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}
