import { isObject } from "../../../lib/is-object.ts";
import { parseEnvFile } from "./env-file.ts";

/** Largest number of properties to choose from. */
const MAX_PROPERTIES = 200;
const LEVELS = 3;

type Member = readonly [pointer: string, value: unknown];

function membersIn(value: unknown, base: string, level: number): Member[] {
  if (!isObject(value) || level === LEVELS || Object.keys(value).length === 0)
    return [[base, value]];
  return Object.entries(value).flatMap(([name, member]) =>
    membersIn(member, `${base}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`, level + 1),
  );
}

/**
 * Returns the members of a value that is a JSON object, and of its nested objects, with their JSON
 * Pointers; none of any other value.
 */
function jsonMembers(value: string): Member[] {
  try {
    const parsed: unknown = JSON.parse(value);
    return isObject(parsed) && Object.keys(parsed).length > 0 ? membersIn(parsed, "", 0) : [];
  } catch {
    return [];
  }
}

/** Returns JSON Pointers to the first members of a value (`jsonMembers`). */
export function jsonProperties(value: string): string[] {
  return jsonMembers(value)
    .slice(0, MAX_PROPERTIES)
    .map(([pointer]) => pointer);
}

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
