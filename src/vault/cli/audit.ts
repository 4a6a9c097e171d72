import { existsSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Command } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { printable } from "../../lib/printable.ts";
import { isAuthentic, knownLogs, readAnchor, type Anchor } from "../server/audit/anchor.ts";
import { type AuditLine, lineState } from "../server/audit/audit-line.ts";
import { rotatedSegments } from "../server/audit/audit-file.ts";
import { describeEntry, selectEntries, type EntryFilter } from "../server/audit/select-entries.ts";
import {
  verifyAuditLog,
  type AuditReport,
  type VerifyOptions,
} from "../server/audit/verify-audit-log.ts";
import { openForCommand } from "../server/store/open-store.ts";
import { isPostgresUrl } from "../server/store/postgres/postgres-location.ts";
import type { KeyRing } from "../server/crypto/key-ring.ts";
import type { Store } from "../server/store/store.ts";
import { progressLine } from "./terminal.ts";
import { rejectPassword, type MasterKeyFlags } from "./data-options.ts";
import { masterKeys } from "./master-keys.ts";
import { codeOf } from "../../lib/errors.ts";

/** Returns the named files and their rotated segments, each once. */
async function withParts(files: readonly string[], command: Command): Promise<string[]> {
  const all = new Set<string>();
  for (const file of files) {
    const parts = await rotatedSegments(file).catch(() => []);
    if (!existsSync(file) && parts.length === 0) command.error(`error: file not found: ${file}`);
    for (const part of parts) all.add(part);
    if (existsSync(file)) all.add(file);
  }
  return [...all];
}

/** Returns what was not verified, because flags are missing. */
function unverified(hasKeys: boolean, hasData: boolean): string[] {
  return [
    ...(hasKeys
      ? []
      : ["not verified whether vault servers wrote the entries: add --master-key-file"]),
    ...(hasData ? [] : ["not verified whether the last entries are missing: add --data"]),
  ];
}

interface Verified extends AuditReport {
  /** Names of further logs that the database knows. */
  readonly others: readonly string[];
}

const NO_ENTRY = { seq: "-", time: "-", hash: "-" };

function summary(
  { log = "-", entries, damage, plain, ...report }: Verified,
  notes: readonly string[],
): string {
  const { first = NO_ENTRY, last = NO_ENTRY, parts, unrecorded, others } = report;
  return [
    damage
      ? `DAMAGED (${damage.kind}): ${damage.file}, line ${damage.line}: ${damage.message}`
      : "intact",
    `log      ${log}`,
    `entries  ${entries}${damage ? " valid before that" : ""}, ${first.seq} to ${last.seq}`,
    `time     ${first.time} to ${last.time}`,
    `files    ${parts.join(" ")}`,
    `head     ${last === NO_ENTRY ? 0 : last.seq} ${last.hash}`,
    ...(plain
      ? [
          `note     entries up to ${plain.seq}, of ${plain.time}, have no MAC: an earlier release wrote them`,
        ]
      : []),
    ...unrecorded.map(
      (seq) => `note     entry ${seq}: the database did not know the log when the server started`,
    ),
    ...others.map(
      (other) =>
        `note     the database also knows ${other}: the log of another server, or a removed one`,
    ),
    ...(damage ? [] : notes.map((note) => `note     ${note}`)),
    "",
  ]
    .map(printable)
    .join("\n");
}

/** Reads the anchors before the log, because a log in use grows. */
async function verifyWithAnchors(
  files: readonly string[],
  options: VerifyOptions,
  store: Store | undefined,
  keys: KeyRing | undefined,
): Promise<Verified> {
  if (!store) return { ...(await verifyAuditLog(files, options)), others: [] };
  const forged = new Set<string>();
  const anchors = await store.read(async (transaction) => {
    const read = new Map<string, Anchor | undefined>();
    for (const log of await knownLogs(transaction)) {
      const anchor = await readAnchor(transaction, log);
      read.set(log, anchor);
      if (keys && anchor && !(await isAuthentic(keys, transaction, anchor))) forged.add(log);
    }
    return read;
  });
  const verified = await verifyAuditLog(files, {
    ...options,
    anchorOf: async (log) => anchors.get(log),
  });
  const report = { ...verified, others: [...anchors.keys()].filter((log) => log !== verified.log) };
  if (report.damage || report.log === undefined || !forged.has(report.log)) return report;
  const message =
    "the end that the database recorded is not authentic: it was not written by a server with this master key";
  return {
    ...report,
    damage: { kind: "rewritten", file: report.parts.at(-1) ?? "", line: 0, message },
  };
}

/** Flags of `vaultsync vault audit verify`. */
export interface VerifyFlags extends MasterKeyFlags {
  readonly data?: string;
  readonly partial?: boolean;
}

/** Verifies an audit log, and prints the result. */
export async function verify(
  files: readonly string[],
  flags: VerifyFlags,
  command: Command,
): Promise<void> {
  const { data, partial } = flags;
  rejectPassword(command);
  const parts = await withParts(files, command);
  if (data !== undefined && !isPostgresUrl(data) && !existsSync(data))
    command.error(`error: data file not found: ${data}`);
  await using store = data === undefined ? undefined : await openForCommand(data);
  // On a terminal only: the output of scheduled runs is mailed or logged.
  const line = process.stderr.isTTY ? progressLine(systemClock) : undefined;
  const progress = (entries: number): void => line?.(`${entries} entries read`);
  const keys = masterKeys(flags);
  const options = {
    progress,
    partial: partial === true,
    ...(keys && { stateOf: (read: AuditLine) => lineState(keys, read) }),
  };
  const report = await verifyWithAnchors(parts, options, store, keys);
  process.stdout.write(summary(report, unverified(keys !== undefined, data !== undefined)));
  if (report.damage) process.exitCode = 1;
}

/** Flags of `vaultsync vault audit show`. */
export type ShowFlags = EntryFilter & { readonly json?: boolean };

/** Prints entries of an audit log. */
export async function show(
  files: readonly string[],
  { json, ...filter }: ShowFlags,
  command: Command,
): Promise<void> {
  const parts = await withParts(files, command);
  async function* lines(): AsyncGenerator<string> {
    for await (const { fields, line } of selectEntries(parts, filter)) {
      yield `${json === true ? line : describeEntry(fields)}\n`;
    }
  }
  try {
    await pipeline(lines, process.stdout, { end: false });
  } catch (error) {
    // The reader, for example head, has closed the pipe.
    if (codeOf(error) !== "EPIPE") throw error;
  }
}
