import { isObject } from "../../lib/is-object.ts";
import { bytesAsWritten, type AuditFields } from "./audit-line.ts";

const TEXT_CHARACTERS = 320;
const LIST_ENTRIES = 100;
/** Maximum number of bytes as written of all lists of a request; a list is cut before it exceeds this. */
const LIST_BYTES = 16_384;
/** Maximum number of bytes as written of a text of a caller who is not known, and of the claimed email. */
const STRANGER_BYTES = 160;
const STRANGER_EMAIL_BYTES = 320;

function shortened(text: string): string {
  return text.length <= TEXT_CHARACTERS ? text : `${text.slice(0, TEXT_CHARACTERS)}…`;
}

/** Returns the start of a text that takes at most `bytes` in a line. */
function cutAsWritten(text: string, bytes: number): string {
  let kept = "";
  let left = bytes;
  for (const character of text) {
    left -= bytesAsWritten(character);
    if (left < 0) return `${kept}…`;
    kept += character;
  }
  return text;
}

/** Bounds the fields of a request whose caller is not known: no lists, and short texts. */
export function boundedForStranger(about: AuditFields): AuditFields {
  const entries = Object.entries(about).flatMap(([name, value]): [string, unknown][] => {
    if (typeof value === "number") return [[name, value]];
    if (typeof value !== "string") return [];
    return [[name, cutAsWritten(value, name === "email" ? STRANGER_EMAIL_BYTES : STRANGER_BYTES)]];
  });
  return Object.fromEntries(entries);
}

/** Returns as many of the texts as fit into `budget` bytes as written. */
function entriesOf(list: readonly unknown[], budget: number): string[] {
  const entries: string[] = [];
  let left = budget;
  for (const entry of list) {
    if (entries.length === LIST_ENTRIES) break;
    if (typeof entry !== "string") continue;
    const text = shortened(entry);
    left -= bytesAsWritten(text);
    if (left < 0) break;
    entries.push(text);
  }
  return entries;
}

function sumOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + bytesAsWritten(text), 0);
}

/**
 * Describes a request, well-formed or not, with bounded length: includes texts, numbers and lists of texts. `of` is the full
 * length of lists that were cut.
 */
export function describeRequest(body: unknown, fields: readonly string[]): AuditFields {
  if (!isObject(body)) return {};
  const about: Record<string, unknown> = {};
  const of: Record<string, number> = {};
  let budget = LIST_BYTES;
  for (const name of fields) {
    const value = body[name];
    if (typeof value === "string") about[name] = shortened(value);
    else if (typeof value === "number") about[name] = value;
    else if (Array.isArray(value)) {
      const entries = entriesOf(value, budget);
      about[name] = entries;
      if (entries.length < value.length) of[name] = value.length;
      budget -= sumOf(entries);
    }
  }
  return Object.keys(of).length > 0 ? { ...about, of } : about;
}

/** Returns the version that an object names, and its owner. */
function versionIn(value: unknown): AuditFields | undefined {
  if (!isObject(value)) return undefined;
  const { key_version, owner } = value;
  return Number.isSafeInteger(key_version) && typeof owner === "string" ? { key_version, owner } : undefined;
}

function versionsOf(files: unknown): AuditFields | undefined {
  if (!Array.isArray(files)) return undefined;
  const versions = files.map((file: unknown) => (isObject(file) ? file["version"] : undefined));
  return versions.every(Number.isSafeInteger) ? { versions } : undefined;
}

/** Describes a response by the version and the owner that it names. */
export function resultOf(response: unknown): AuditFields {
  if (!isObject(response)) return {};
  const result = versionIn(response["secret"]) ?? versionIn(response) ?? versionsOf(response["files"]);
  return result ? { result } : {};
}
