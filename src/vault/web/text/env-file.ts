/** One variable of an `.env` file. */
interface EnvVariable {
  readonly name: string;
  readonly value: string;
}

export interface EnvFile {
  /** In the order of the file; the last one of a name counts. */
  readonly variables: readonly EnvVariable[];
  /** Numbers of the lines, from 1, that are neither a variable nor a comment. */
  readonly unreadable: readonly number[];
  /** Names that occur several times. */
  readonly repeated: readonly string[];
}

/**
 * A line with a variable: name, then a value that may be quoted and then may have several lines.
 */
const VARIABLE =
  /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*(?:'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|`([^`]*)`|([^\r\n]*))[ \t]*(?:#[^\r\n]*)?$/u;

const escapes: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

function unescaped(text: string): string {
  return text.replaceAll(/\\([\s\S])/gu, (whole, character: string) =>
    Object.hasOwn(escapes, character)
      ? (escapes[character] ?? whole)
      : `"\\$`.includes(character)
        ? character
        : whole,
  );
}

/** Returns the value of an unquoted text: a comment starts at a `#` after a space. */
function unquoted(text: string): string {
  return text.replace(/(?:^|\s)#.*$/u, "").trim();
}

function variableOf(lines: string): EnvVariable | undefined {
  const [, name, single, double, backtick, plain] = VARIABLE.exec(lines) ?? [];
  if (name === undefined) return undefined;
  const value = single ?? backtick ?? (double === undefined ? undefined : unescaped(double));
  if (value !== undefined) return { name, value };
  // A quotation mark that is not closed on this line.
  return plain === undefined || /^["'`]/u.test(plain)
    ? undefined
    : { name, value: unquoted(plain) };
}

/** Lines of one quoted value, at most. */
const MAX_LINES = 200;

/** Start of a variable whose value is quoted. */
const QUOTED = /^[ \t]*(?:export[ \t]+)?[\w.-]+[ \t]*=[ \t]*(["'`])/u;

/** Returns the variable that starts at a line, and its last line. */
function variableAt(
  lines: readonly string[],
  at: number,
): { readonly variable: EnvVariable; readonly end: number } | undefined {
  const line = lines[at] ?? "";
  const alone = variableOf(line);
  if (alone) return { variable: alone, end: at };
  const quote = QUOTED.exec(line)?.[1];
  if (quote === undefined) return undefined;
  for (let end = at + 1; end < Math.min(lines.length, at + MAX_LINES); end++) {
    const variable =
      lines[end]?.includes(quote) === true
        ? variableOf(lines.slice(at, end + 1).join("\n"))
        : undefined;
    if (variable) return { variable, end };
  }
  return undefined;
}

/** Parses an `.env` file: `NAME=value`, quoted values with several lines, `export` and comments. */
export function parseEnvFile(text: string): EnvFile {
  const lines = text.replace(/^\uFEFF/u, "").split(/\r?\n/u);
  const variables = new Map<string, string>();
  const unreadable: number[] = [];
  const repeated = new Set<string>();
  for (let at = 0; at < lines.length; at++) {
    if (/^\s*(?:#|$)/u.test(lines[at] ?? "")) continue;
    const found = variableAt(lines, at);
    if (found) {
      const { name, value } = found.variable;
      if (variables.has(name)) repeated.add(name);
      variables.set(name, value);
      at = found.end;
    } else unreadable.push(at + 1);
  }
  return {
    variables: Array.from(variables, ([name, value]) => ({ name, value })),
    unreadable,
    repeated: [...repeated],
  };
}
