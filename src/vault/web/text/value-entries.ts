import { parseEnvFile } from "./env-file.ts";
import { jsonMembers } from "./json-properties.ts";

/** One entry of a value: a variable of an `.env` file, or a member of a JSON object. */
export interface ValueEntry {
  readonly name: string;
  readonly value: string;
}

const MAX_ENTRIES = 200;

/** Returns the text of a JSON value, of a string without quotation marks. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Returns the words of a JSON Pointer: `db/password`. */
function nameOf(pointer: string): string {
  return pointer.slice(1).replaceAll("~1", "/").replaceAll("~0", "~");
}

/**
 * Returns the entries of a value that is a JSON object, or an `.env` file of two variables or more;
 * none of any other value. One line with `=` may as well be a password.
 */
export function valueEntries(value: string): readonly ValueEntry[] {
  const members = jsonMembers(value).map(([pointer, member]) => ({
    name: nameOf(pointer),
    value: textOf(member),
  }));
  if (members.length > 0) return members.length <= MAX_ENTRIES ? members : [];
  const { variables, unreadable } = parseEnvFile(value);
  const readable = unreadable.length === 0 && variables.length <= MAX_ENTRIES;
  return readable && variables.length > 1 ? variables : [];
}
