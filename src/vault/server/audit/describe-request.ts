import { hash as digest } from "node:crypto";
import { isObject } from "../../../lib/is-object.ts";
import { bytesAsWritten, type AuditFields } from "./audit-line.ts";

const TEXT_CHARACTERS = 320;

/** Bounds of the lists of a line. */
interface ListBounds {
  /** Entries of one list. */
  readonly entries: number;
  /** Bytes as written of all lists; a list is cut before it exceeds this. */
  readonly bytes: number;
}

/** Lists of a line before the effect, and of a rejection. */
const BRIEF: ListBounds = { entries: 10, bytes: 2048 };
/** Lists of a success. A line stays shorter than what the readers of a log accept. */
const FULL: ListBounds = { entries: Infinity, bytes: 256 * 1024 };
/**
 * Maximum number of bytes as written of a text of a caller who is not known, and of the claimed
 * email.
 */
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

/**
 * Picks the texts, numbers and lists of texts of a request, well-formed or not. Texts are bounded,
 * lists are not: `withLists` bounds them.
 */
export function describeRequest(body: unknown, fields: readonly string[]): AuditFields {
  if (!isObject(body)) return {};
  const picked = fields.flatMap((name): [string, unknown][] => {
    const value = body[name];
    if (typeof value === "string") return [[name, shortened(value)]];
    return typeof value === "number" || Array.isArray(value) ? [[name, value]] : [];
  });
  return Object.fromEntries(picked);
}

/** Returns the first texts of a list within the bounds, and the bytes that are left. */
function entriesOf(
  list: readonly unknown[],
  { entries: most, bytes }: ListBounds,
): { readonly entries: string[]; readonly left: number } {
  const entries: string[] = [];
  let left = bytes;
  for (const entry of list) {
    if (entries.length === most) break;
    if (typeof entry !== "string") continue;
    const text = shortened(entry);
    const rest = left - bytesAsWritten(text);
    if (rest < 0) break;
    left = rest;
    entries.push(text);
  }
  return { entries, left };
}

/** The fields of a request with bounded lists, and the names of the lists that were cut. */
export interface BoundedFields {
  readonly about: AuditFields;
  readonly cut: readonly string[];
}

/**
 * Bounds the lists of a request. Of a list that is cut, `of` has the length, and `sha256` the
 * digest of the JSON of its texts, for comparison with another list.
 */
function withLists(fields: AuditFields, bounds: ListBounds): BoundedFields {
  const about: Record<string, unknown> = {};
  const of: Record<string, number> = {};
  const sha256: Record<string, string> = {};
  let { bytes } = bounds;
  for (const [name, value] of Object.entries(fields)) {
    const list: readonly unknown[] | undefined = Array.isArray(value) ? value : undefined;
    about[name] = value;
    if (!list) continue;
    const { entries, left } = entriesOf(list, { ...bounds, bytes });
    about[name] = entries;
    bytes = left;
    if (entries.length === list.length) continue;
    of[name] = list.length;
    sha256[name] = digest(
      "sha256",
      JSON.stringify(list.filter((entry) => typeof entry === "string")),
    );
  }
  const cut = Object.keys(of);
  return { about: cut.length > 0 ? { ...about, of, sha256 } : about, cut };
}

/**
 * Bounds the lists of a line before the effect, and of a rejection: at most ten entries, and 2 KiB
 * as written together.
 */
export function inBrief(fields: AuditFields): BoundedFields {
  return withLists(fields, BRIEF);
}

/** Bounds the lists of the line of a success: 256 KiB as written together. */
export function inFull(fields: AuditFields): BoundedFields {
  return withLists(fields, FULL);
}

/** Returns the version that an object names, and its owner. */
function versionIn(value: unknown): AuditFields | undefined {
  if (!isObject(value)) return undefined;
  const { key_version, owner } = value;
  return Number.isSafeInteger(key_version) && typeof owner === "string"
    ? { key_version, owner }
    : undefined;
}

function versionsOf(files: unknown): AuditFields | undefined {
  if (!Array.isArray(files)) return undefined;
  const versions = files.map((file: unknown) => (isObject(file) ? file["version"] : undefined));
  return versions.every(Number.isSafeInteger) ? { versions } : undefined;
}

/** Returns the names of entries of the trash: a request has only their ids. */
function entriesIn(value: unknown): AuditFields | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const names = value.map((entry: unknown) =>
    isObject(entry) && typeof entry["id"] === "string" ? entry["name"] : undefined,
  );
  return names.every((name) => typeof name === "string") ? inFull({ names }).about : undefined;
}

/** Describes a response by the version and the owner that it names. */
export function resultOf(response: unknown): AuditFields {
  if (!isObject(response)) return {};
  const result =
    versionIn(response["secret"]) ??
    versionIn(response) ??
    versionsOf(response["files"]) ??
    entriesIn(response["restored"]) ??
    entriesIn(response["deleted"]);
  return result ? { result } : {};
}
