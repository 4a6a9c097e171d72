import { z } from "zod";
import type { AuditFields } from "./audit-line.ts";

const TEXT_CHARACTERS = 320;
const LIST_ENTRIES = 100;
/** Of all texts of one request together; a list ends before it goes beyond. */
const ALL_CHARACTERS = 16_384;

function shortened(text: string): string {
  return text.length <= TEXT_CHARACTERS ? text : `${text.slice(0, TEXT_CHARACTERS)}…`;
}

/** As many of the texts as there is room for. */
function entriesOf(list: readonly unknown[], room: number): string[] {
  const entries: string[] = [];
  let left = room;
  for (const entry of list) {
    if (entries.length === LIST_ENTRIES) break;
    if (typeof entry !== "string") continue;
    const text = shortened(entry);
    left -= text.length;
    if (left < 0) break;
    entries.push(text);
  }
  return entries;
}

function lengthOf(value: string | number | readonly string[]): number {
  return typeof value === "number" ? 0 : typeof value === "string" ? value.length : value.join("").length;
}

/**
 * What a request says it is about, bounded in length and number, whether or not it is well-formed: only texts, numbers and lists of
 * texts are taken. `of` says how long a list was that was cut.
 */
export function describeRequest(body: unknown, fields: readonly string[]): AuditFields {
  if (typeof body !== "object" || body === null) return {};
  const given = new Map(Object.entries(body));
  const about: Record<string, unknown> = {};
  const of: Record<string, number> = {};
  let room = ALL_CHARACTERS;
  for (const name of fields) {
    const value: unknown = given.get(name);
    if (typeof value === "string") about[name] = shortened(value);
    else if (typeof value === "number") about[name] = value;
    else if (Array.isArray(value)) {
      const entries = entriesOf(value, room);
      about[name] = entries;
      if (entries.length < value.length) of[name] = value.length;
      room -= lengthOf(entries);
    }
  }
  return Object.keys(of).length > 0 ? { ...about, of } : about;
}

const version = z.int();
const secret = z.object({ key_version: version, owner: z.string() });

/** The answers that say which version of what they are about. */
const answers = z.union([
  z.object({ secret }).transform((answer) => answer.secret),
  secret,
  z
    .object({ files: z.array(z.object({ filename: z.string(), version })) })
    .transform(({ files }) => ({ versions: files.map((file) => file.version) })),
]);

/** What an answer adds to what its request said: which version it was, and whose. */
export function resultOf(answer: unknown): AuditFields {
  const known = answers.safeParse(answer);
  return known.success ? { result: known.data } : {};
}
