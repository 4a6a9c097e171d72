import type { VNode } from "preact";
import type { SecretRecord } from "../../../../protocol/responses.ts";
import { FailureNote } from "../../parts/notes.tsx";
import { Icon } from "../../parts/icon.tsx";
import { exposeVersion } from "../../service/secrets.ts";
import { useClient } from "../../session/client-context.ts";
import { lineDiff } from "../../text/line-diff.ts";
import { useRevealed } from "./use-revealed.ts";

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
export function ValueComparison({ version, latest }: ValueComparisonProps): VNode {
  const client = useClient();
  const valueOf = async (of: SecretRecord): Promise<string> =>
    (await exposeVersion(client, of, of.key_version)).key_value;
  const { value, action, reveal, hide } = useRevealed(async () => ({
    before: await valueOf(latest),
    after: await valueOf(version),
  }));
  return (
    <div class="stack">
      {value && <Difference {...value} />}
      <FailureNote failure={action.failure} />
      <div class="buttons">
        <button
          class="button"
          type="button"
          onClick={value ? hide : reveal}
          aria-disabled={action.busy}
        >
          <Icon name={value ? "eye-off" : "eye"} />
          {value ? "Hide the comparison" : `Compare with version ${latest.key_version}`}
        </button>
      </div>
    </div>
  );
}
