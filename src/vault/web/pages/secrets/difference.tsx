import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { foldedDiff, lineDiff, type DiffLine } from "../../text/line-diff.ts";

const signs = { same: " ", removed: "−", added: "+" } as const;

/** Returns `1 line removed, 2 added.`, or an empty text without a difference. */
function countText(diff: readonly DiffLine[]): string {
  const counts = (["removed", "added"] as const)
    .map((kind) => [kind, diff.filter((line) => line.kind === kind).length] as const)
    .filter(([, count]) => count > 0)
    .map(
      ([kind, count], at) => `${count}${at > 0 ? "" : count === 1 ? " line" : " lines"} ${kind}`,
    );
  return counts.length === 0 ? "" : `${counts.join(", ")}.`;
}

interface DifferenceProps {
  readonly before: string;
  readonly after: string;
  /** Text without a difference. */
  readonly equal: string;
  /** Shows only the numbers of lines. */
  readonly concealed?: boolean;
}

/** Shows the lines in which two values differ, with some lines around them. */
export function Difference({ before, after, equal, concealed = false }: DifferenceProps): VNode {
  const diff = useMemo(() => lineDiff(before, after), [before, after]);
  const text = countText(diff);
  return (
    <div class="stack">
      <p class="hint" role="status">
        {text || equal}
      </p>
      {text !== "" && !concealed && (
        <pre class="value shown diff" tabIndex={0} role="group" aria-label="Difference">
          {foldedDiff(diff).map((part, at) =>
            part.kind === "folded" ? (
              <span key={at} class="folded">
                … {part.count} unchanged lines{"\n"}
              </span>
            ) : (
              <span key={at} class={part.kind}>
                {signs[part.kind]} {part.text}
                {"\n"}
              </span>
            ),
          )}
        </pre>
      )}
    </div>
  );
}
