import { RE2JS, RE2JSSyntaxException } from "re2js";

/**
 * Maximum size of a compiled expression, in instructions: it limits the time for one text to some
 * 0.1 ms.
 */
const MAX_INSTRUCTIONS = 500;
/** Maximum number of expressions that are kept compiled. */
const MAX_KEPT = 1_000;

/** A regular expression or replacement is invalid. `position` counts characters from 1. */
export class RegExpProblem {
  readonly message: string;

  constructor(problem: string, position: number | undefined) {
    this.message = position === undefined ? problem : `${problem} at position ${position}`;
  }
}

/**
 * A regular expression in the syntax of RE2, matched in time linear in the length of the text: no
 * text makes it slow, and no user of a cluster can stop the operator with one.
 */
export class LinearRegExp {
  readonly #compiled: RE2JS;

  constructor(compiled: RE2JS) {
    this.#compiled = compiled;
  }

  /** Reports whether a part of the text matches. */
  test(text: string): boolean {
    return this.#compiled.test(text);
  }

  /** Reports whether the expression has this group, by number or name. */
  hasGroup(group: string): boolean {
    return /^\d+$/.test(group)
      ? Number(group) <= this.#compiled.groupCount()
      : Object.hasOwn(this.#compiled.namedGroups(), group);
  }

  /**
   * Replaces every match with the result of `replacement`. The function `group` returns the text of
   * a group by number or name.
   */
  replaceAll(text: string, replacement: (group: (id: string) => string) => string): string {
    const matcher = this.#compiled.matcher(text);
    let replaced = "";
    let end = 0;
    while (matcher.find()) {
      const group = (id: string): string => matcher.group(/^\d+$/.test(id) ? Number(id) : id) ?? "";
      replaced += text.slice(end, matcher.start()) + replacement(group);
      end = matcher.end();
    }
    return replaced + text.slice(end);
  }
}

/** Returns the position of the part of an expression that the parser rejects. */
function positionOf(source: string, error: RE2JSSyntaxException): number {
  const input = error.getPattern();
  const problem = error.getDescription();
  if (input === null || problem === "missing closing )") return source.length;
  if (problem === "unexpected )") return firstUnexpected(source);
  return (
    1 +
    (problem.startsWith("duplicate") ? source.lastIndexOf(`<${input}>`) + 1 : source.indexOf(input))
  );
}

/**
 * Returns the position of the first closing parenthesis without an opening one. The parser does not
 * report it.
 */
function firstUnexpected(source: string): number {
  for (let length = 1; length < source.length; length += 1) {
    const problem = compile(source.slice(0, length));
    if (problem instanceof RegExpProblem && problem.message.startsWith("unexpected )"))
      return length;
  }
  return source.length;
}

function compile(source: string): LinearRegExp | RegExpProblem {
  try {
    const compiled = RE2JS.compile(source);
    return compiled.programSize() > MAX_INSTRUCTIONS
      ? new RegExpProblem("too complex: use smaller repeat counts", undefined)
      : new LinearRegExp(compiled);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return new RegExpProblem(error.getDescription(), positionOf(source, error));
  }
}

const kept = new Map<string, LinearRegExp | RegExpProblem>();

/** Returns the expression of this source, or what is wrong with it. */
export function linearRegExp(source: string): LinearRegExp | RegExpProblem {
  const known = kept.get(source);
  if (known !== undefined) return known;
  const compiled = compile(source);
  const [oldest] = kept.keys();
  if (kept.size >= MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  kept.set(source, compiled);
  return compiled;
}

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
