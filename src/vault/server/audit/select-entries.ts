import { z } from "zod";
import { canonicalEmail } from "../../../protocol/email-address.ts";
import { openLine, type AuditFields, type AuditLine } from "./audit-line.ts";
import { readLines } from "./read-lines.ts";
import { inOrder } from "./verify-audit-log.ts";

/** Conditions on entries; all that are set must match. */
export interface EntryFilter {
  /** User of the request, authenticated or claimed. */
  readonly who?: string;
  readonly operation?: string;
  /** Name of a secret, a file or a team. */
  readonly name?: string;
  /** Earliest time, in milliseconds since the epoch. */
  readonly since?: number;
}

/** Fields that contain names. */
const NAMING = ["key_name", "filename", "group_id", "group_id_to"];
const named = z.object({ about: z.record(z.string(), z.unknown()) });

function namesOf(fields: AuditFields): unknown[] {
  const { data } = named.safeParse(fields);
  return data ? NAMING.flatMap((field) => data.about[field]) : [];
}

function isOf(fields: AuditFields, who: string): boolean {
  return [fields.who, fields.claimed].some(
    (email) => typeof email === "string" && canonicalEmail(email) === canonicalEmail(who),
  );
}

function matches(
  { fields, time }: AuditLine,
  { who, operation, name, since }: EntryFilter,
  names: readonly unknown[],
): boolean {
  return (
    (who === undefined || isOf(fields, who)) &&
    (operation === undefined || fields.operation === operation) &&
    (name === undefined || names.includes(name)) &&
    (since === undefined || Date.parse(time) >= since)
  );
}

/**
 * Finds the names of an entry: the second line of a request does not repeat the names of the first
 * one.
 */
class RequestNames {
  readonly #first = new Map<unknown, readonly unknown[]>();

  /** Returns the names of the entry and of its request so far. */
  of({ request, phase, ...fields }: AuditFields): readonly unknown[] {
    const names = namesOf(fields);
    if (phase === "begin") this.#first.set(request, names);
    if (phase !== "end") return names;
    const first = this.#first.get(request) ?? [];
    this.#first.delete(request);
    return [...first, ...names];
  }
}

/** An entry, and its line in the log without the newline. */
interface SelectedEntry {
  readonly fields: AuditFields;
  readonly line: string;
}

/** Returns the valid entries of a log that match, in order. */
export async function* selectEntries(
  files: readonly string[],
  filter: EntryFilter,
): AsyncGenerator<SelectedEntry> {
  const names = new RequestNames();
  for (const file of await inOrder(files)) {
    for await (const { bytes } of readLines(file)) {
      const opened = openLine(bytes);
      if (opened && matches(opened, filter, names.of(opened.fields)))
        yield { fields: opened.fields, line: Buffer.from(bytes).toString() };
    }
  }
}

/** Characters that a terminal could interpret; the log itself contains no control characters. */
const UNPRINTABLE = /[\p{C}\u2028\u2029]/gu;

/** Formats an entry as a readable line. */
export function describeEntry({
  time,
  event,
  phase,
  operation,
  who,
  claimed,
  client,
  about,
  result,
  status,
  error,
  ...rest
}: AuditFields): string {
  const { seq, log: _log, prev: _prev, request: _request, ...details } = rest;
  const said =
    event === undefined
      ? [
          phase,
          operation,
          who ?? "-",
          ...(claimed === undefined ? [] : [`claiming ${JSON.stringify(claimed)}`]),
          "from",
          client,
          status,
          error,
        ]
      : ["server", event];
  const more = event === undefined ? { about, result } : details;
  const text = [
    seq,
    time,
    ...said.filter((word) => word !== undefined && word !== null),
    JSON.stringify(more),
  ]
    .map(String)
    .join(" ");
  return text.replace(
    UNPRINTABLE,
    (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`,
  );
}
