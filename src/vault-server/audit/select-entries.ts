import { z } from "zod";
import { canonicalEmail } from "../../protocol/email-address.ts";
import { openLine, type AuditFields, type AuditLine } from "./audit-line.ts";
import { readLines } from "./read-lines.ts";
import { inOrder } from "./verify-audit-log.ts";

/** Each that is given must hold. */
export interface EntryFilter {
  /** The account, or who claimed to be it. */
  readonly who?: string;
  readonly operation?: string;
  /** Of a secret, a file or a team. */
  readonly name?: string;
  /** Milliseconds since the epoch. */
  readonly since?: number;
}

/** Fields that hold names. */
const NAMING = ["key_name", "filename", "group_id", "group_id_to"];
const named = z.object({ about: z.record(z.string(), z.unknown()) });

function namesOf(fields: AuditFields): unknown[] {
  const { data } = named.safeParse(fields);
  return data ? NAMING.flatMap((field) => data.about[field]) : [];
}

function isOf(fields: AuditFields, who: string): boolean {
  return [fields.who, fields.claimed].some((email) => typeof email === "string" && canonicalEmail(email) === canonicalEmail(who));
}

function fits({ fields, time }: AuditLine, { who, operation, name, since }: EntryFilter): boolean {
  return (
    (who === undefined || isOf(fields, who)) &&
    (operation === undefined || fields.operation === operation) &&
    (name === undefined || namesOf(fields).includes(name)) &&
    (since === undefined || Date.parse(time) >= since)
  );
}

/** The sound lines of a log that fit, in order. */
export async function* selectEntries(files: readonly string[], filter: EntryFilter): AsyncGenerator<AuditFields> {
  for (const file of await inOrder(files)) {
    for await (const { bytes } of readLines(file)) {
      const line = openLine(bytes);
      if (line && fits(line, filter)) yield line.fields;
    }
  }
}

/** Whatever a terminal could take for more than text, as JSON would write it; control characters are in the log itself never. */
const UNPRINTABLE = /[\p{C}\u2028\u2029]/gu;

/** One entry as a line for a person. */
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
  const text = [seq, time, ...said.filter((word) => word !== undefined && word !== null), JSON.stringify(more)]
    .map(String)
    .join(" ");
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`);
}
