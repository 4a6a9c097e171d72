import { type LinearRegExp, RegExpProblem } from "./linear-regexp.ts";

/** A part of a replacement: text, or a group of the expression. */
type Part = { readonly text: string } | { readonly group: string };

const PART = /\$(?:\$|(\d+)|\{(\w+)\})|[^$]+|\$/y;

/**
 * Parses what replaces a match: `$1` or `${1}` is a group by its number, `${name}` one by its name,
 * and `$$` a dollar sign. Returns the function that replaces every match in a text, or what is
 * wrong.
 */
export function replacementOf(
  expression: LinearRegExp,
  source: string,
): ((text: string) => string) | RegExpProblem {
  const parts: Part[] = [];
  for (const match of source.matchAll(new RegExp(PART, "gy"))) {
    const [all, number, name] = match;
    const group = number ?? name;
    const position = match.index + 1;
    if (group === undefined) {
      if (all === "$")
        return new RegExpProblem("a dollar sign that is neither $1, ${name} nor $$", position);
      parts.push({ text: all === "$$" ? "$" : all });
    } else if (expression.hasGroup(group)) parts.push({ group });
    else return new RegExpProblem(`the expression has no group ${group}`, position);
  }
  return (text) =>
    expression.replaceAll(text, (group) =>
      parts.map((part) => ("text" in part ? part.text : group(part.group))).join(""),
    );
}
