import { z } from "zod";
import type { AuditFields } from "./audit-line.ts";

const TEXT_CHARACTERS = 320;
const LIST_ENTRIES = 100;
/** Maximum number of characters of all texts of a request; a list is cut before it exceeds this. */
const ALL_CHARACTERS = 16_384;

function shortened(text: string): string {
  return text.length <= TEXT_CHARACTERS ? text : `${text.slice(0, TEXT_CHARACTERS)}…`;
}

/** Returns as many of the texts as fit into `budget` characters. */
function entriesOf(list: readonly unknown[], budget: number): string[] {
  const entries: string[] = [];
  let left = budget;
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
 * Describes a request, well-formed or not, with bounded length: includes texts, numbers and lists of texts. `of` is the full
 * length of lists that were cut.
 */
export function describeRequest(body: unknown, fields: readonly string[]): AuditFields {
  if (typeof body !== "object" || body === null) return {};
  const given = new Map(Object.entries(body));
  const about: Record<string, unknown> = {};
  const of: Record<string, number> = {};
  let budget = ALL_CHARACTERS;
  for (const name of fields) {
    const value: unknown = given.get(name);
    if (typeof value === "string") about[name] = shortened(value);
    else if (typeof value === "number") about[name] = value;
    else if (Array.isArray(value)) {
      const entries = entriesOf(value, budget);
      about[name] = entries;
      if (entries.length < value.length) of[name] = value.length;
      budget -= lengthOf(entries);
    }
  }
  return Object.keys(of).length > 0 ? { ...about, of } : about;
}

const version = z.int();
const secret = z.object({ key_version: version, owner: z.string() });

/** Responses that name a version. */
const responses = z.union([
  z.object({ secret }).transform((response) => response.secret),
  secret,
  z
    .object({ files: z.array(z.object({ filename: z.string(), version })) })
    .transform(({ files }) => ({ versions: files.map((file) => file.version) })),
]);

/** Describes a response by the version and the owner that it names. */
export function resultOf(response: unknown): AuditFields {
  const known = responses.safeParse(response);
  return known.success ? { result: known.data } : {};
}
