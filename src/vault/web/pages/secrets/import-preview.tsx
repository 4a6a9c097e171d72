import type { VNode } from "preact";
import { NameText } from "../../parts/value-text.tsx";
import type { Planned } from "./use-import.ts";

interface PreviewProps {
  readonly planned: readonly Planned[];
  readonly unreadable: readonly number[];
  readonly repeated: readonly string[];
  /** Names of the secrets to update. */
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (names: readonly string[], chosen: boolean) => void;
}

type EntryProps = Pick<PreviewProps, "chosen" | "onChoose"> & { readonly entry: Planned };

/** Says what becomes of an entry. */
function Outcome({ entry: { name, value, plan }, chosen, onChoose }: EntryProps): VNode {
  switch (plan.kind) {
    case "new": {
      const { length } = Array.from(value);
      return (
        <span class="quiet">
          New, {length} {length === 1 ? "character" : "characters"}
        </span>
      );
    }
    case "skipped":
      return <span class="badge warn">Skipped: {plan.reason}</span>;
    case "existing":
      return <span class="badge warn">In use, version {plan.secret.key_version}</span>;
    case "equal":
      return <span class="quiet">Equal to version {plan.version}</span>;
    case "done":
      return <span class="badge own">Stored</span>;
    case "changed":
      return (
        <label class="check">
          <input
            type="checkbox"
            checked={chosen.has(name)}
            onChange={(event) => onChoose([name], event.currentTarget.checked)}
          />
          Update: differs from version {plan.version}
        </label>
      );
  }
}

/** Lists what becomes of each variable, without the values. */
export function ImportPreview(props: PreviewProps): VNode {
  const { planned, unreadable, repeated, chosen, onChoose } = props;
  const changed = planned.filter(({ plan }) => plan.kind === "changed").map(({ name }) => name);
  return (
    <div class="preview">
      {planned.length > 0 && (
        <ul aria-label="Secrets to store" tabIndex={0}>
          {planned.map((entry) => (
            <li key={entry.name}>
              <NameText name={entry.name} />
              <Outcome entry={entry} chosen={chosen} onChoose={onChoose} />
            </li>
          ))}
        </ul>
      )}
      {changed.length > 1 && (
        <label class="check">
          <input
            type="checkbox"
            checked={changed.every((name) => chosen.has(name))}
            onChange={(event) => onChoose(changed, event.currentTarget.checked)}
          />
          Update all {changed.length} that differ
        </label>
      )}
      {unreadable.length > 0 && (
        <p class="reason">Not understood and skipped: line {unreadable.join(", ")}.</p>
      )}
      {repeated.length > 0 && (
        <p class="reason break">
          Several values, of which the last one counts: {repeated.join(", ")}.
        </p>
      )}
    </div>
  );
}
