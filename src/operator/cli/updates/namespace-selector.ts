import type { NamespaceSelector } from "../../api/namespace-selector.ts";

type Expression = NonNullable<NamespaceSelector["matchExpressions"]>[number];

const SET = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/u;
const EQUALITY = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/u;
const EXISTENCE = /^(!?)\s*([^\s=!()]+)$/u;

/** Returns what one requirement of a selector means; `undefined` if it is malformed. */
function expressionOf(text: string): Expression | undefined {
  const [, setKey, set, members] = SET.exec(text) ?? [];
  if (setKey !== undefined && members !== undefined)
    return {
      key: setKey,
      operator: set === "in" ? "In" : "NotIn",
      values: members.split(",").map((value) => value.trim()),
    };
  const [, key, equality, value] = EQUALITY.exec(text) ?? [];
  if (key !== undefined && value !== undefined)
    return { key, operator: equality === "!=" ? "NotIn" : "In", values: [value] };
  const [, not, label] = EXISTENCE.exec(text) ?? [];
  return label === undefined
    ? undefined
    : { key: label, operator: not === "!" ? "DoesNotExist" : "Exists" };
}

/**
 * Parses a selector of labels as kubectl does: `team=shop,tier!=test`, `team in (a, b)`, `team`,
 * `!team`.
 * @throws Error that names the malformed requirement
 */
export function parseSelector(text: string): NamespaceSelector {
  // A comma between parentheses belongs to a set.
  const parts = text.split(/,(?![^(]*\))/u).map((part) => part.trim());
  const matchExpressions = parts.map((part) => {
    const expression = expressionOf(part);
    if (expression === undefined)
      throw new Error(
        `--namespace-selector: cannot parse ${JSON.stringify(part)}: expected labels such as team=shop,tier!=test`,
      );
    return expression;
  });
  return { matchExpressions };
}
