/** Index of the first character at or after `at` that is not white space. */
function skipSpace(text: string, at: number): number {
  let index = at;
  while (/^[ \t\n\r]$/.test(text[index] ?? "")) index += 1;
  return index;
}

/** Returns the index after the string that starts at this quote. */
function endOfString(text: string, quote: number): number {
  let at = quote + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

/** Returns the index after the value that starts here. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const character = text[at];
    if (character === '"') at = endOfString(text, at);
    else {
      if (character === "{" || character === "[") depth += 1;
      if (character === "}" || character === "]") depth -= 1;
      at += 1;
    }
  } while (at < text.length && (depth > 0 || !/^[\s,\]}]$/.test(text[at] ?? "")));
  return at;
}

/**
 * Returns the texts of the parts of an object or array: with `hasNames`, name and value of each
 * member in turn.
 */
function partsOf(text: string, hasNames: boolean): [string, string][] {
  const parts: [string, string][] = [];
  let at = skipSpace(text, skipSpace(text, 0) + 1);
  while (at < text.length && text[at] !== "}" && text[at] !== "]") {
    let name = `${parts.length}`;
    if (hasNames) {
      const end = endOfString(text, at);
      name = String(JSON.parse(text.slice(at, end)));
      at = skipSpace(text, skipSpace(text, end) + 1);
    }
    const end = endOfValue(text, at);
    parts.push([name, text.slice(at, end)]);
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return parts;
}

/**
 * Returns the members of an object, or the elements of an array by their index, each with the text
 * that it is written in: a number keeps its digits, and `__proto__` is a name like any other.
 * `text` is valid JSON. Returns `undefined` for any other value.
 */
export function partsOfJson(text: string): readonly [string, string][] | undefined {
  const first = text[skipSpace(text, 0)];
  return first === "{" || first === "[" ? partsOf(text, first === "{") : undefined;
}

/** Reports whether the text of a JSON value is an object. */
export const isObjectText = (text: string): boolean => text[skipSpace(text, 0)] === "{";

/** Returns the content of a string, and the text of any other JSON value. */
export function contentOfJson(text: string): string {
  const value = text.trim();
  return value.startsWith('"') ? String(JSON.parse(value)) : value;
}

/**
 * Returns the text of the value that a JSON Pointer refers to; `undefined` if there is none, or
 * `ambiguous` if an object on the way has two members of that name. `text` is valid JSON.
 */
export function selectJson(
  text: string,
  pointer: string,
): { readonly text: string } | "ambiguous" | undefined {
  let value = text;
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    const found = (partsOfJson(value) ?? []).filter(([part]) => part === name);
    if (found.length > 1) return "ambiguous";
    const [only] = found;
    if (only === undefined) return undefined;
    [, value] = only;
  }
  return { text: value };
}
