import { LinearRegExp, linearRegExp, replacementOf } from "../lib/linear-regexp.ts";

/** Replaces every match of a regular expression in a name. Both texts are valid. */
export interface Rewrite {
  readonly source: string;
  readonly target: string;
}

function replace(name: string, { source, target }: Rewrite): string {
  const expression = linearRegExp(source);
  const replacement =
    expression instanceof LinearRegExp ? replacementOf(expression, target) : undefined;
  return typeof replacement === "function" ? replacement(name) : name;
}

/** Returns the key that the rules, in their order, make of a name. */
export const rewriteKey = (rules: readonly Rewrite[], name: string): string =>
  rules.reduce(replace, name);
