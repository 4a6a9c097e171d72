import { existsSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { type Command, InvalidArgumentError } from "commander";
import { systemClock } from "../../lib/clock.ts";
import { knownLogs, readAnchor } from "../../vault-server/audit/anchored-audit-log.ts";
import { rotatedSegments } from "../../vault-server/audit/audit-file.ts";
import { describeEntry, selectEntries, type EntryFilter } from "../../vault-server/audit/select-entries.ts";
import { verifyAuditLog, type AuditReport, type VerifyOptions } from "../../vault-server/audit/verify-audit-log.ts";
import { openStore } from "../../vault-server/store/open-store.ts";
import { isPostgresUrl } from "../../vault-server/store/postgres/postgres-location.ts";
import type { Store } from "../../vault-server/store/store.ts";
import { dataOption, refusePassword } from "./data-option.ts";
import { codeOf } from "../../lib/error-code.ts";

const PROGRESS_MS = 2000;

/** The files named and the parts that were put aside of them, each once. */
async function withParts(files: readonly string[], command: Command): Promise<string[]> {
  const all = new Set<string>();
  for (const file of files) {
    const parts = await rotatedSegments(file).catch(() => []);
    if (!existsSync(file) && parts.length === 0) command.error(`error: there is no file ${file}`);
    for (const part of parts) all.add(part);
    if (existsSync(file)) all.add(file);
  }
  return [...all];
}

function summary({ log, entries, first, last, parts, damage }: AuditReport): string {
  return [
    damage ? `DAMAGED (${damage.kind}): ${damage.file}, line ${damage.line}: ${damage.message}` : "intact",
    `log      ${log ?? "-"}`,
    `entries  ${entries}${damage ? " sound ones before that" : ""}, ${first?.seq ?? "-"} to ${last?.seq ?? "-"}`,
    `time     ${first?.time ?? "-"} to ${last?.time ?? "-"}`,
    `parts    ${parts.join(" ")}`,
    `head     ${last?.seq ?? 0} ${last?.hash ?? "-"}`,
    "",
  ].join("\n");
}

/** Once in a while, and only where somebody watches. */
function progressLine(): (entries: number) => void {
  let told = systemClock.monotonic();
  return (entries) => {
    if (!process.stderr.isTTY || systemClock.monotonic() - told < PROGRESS_MS) return;
    told = systemClock.monotonic();
    process.stderr.write(`${entries} entries read\n`);
  };
}

/** What the database remembers must be asked before the lines are read: a log in use grows. */
async function checked(files: readonly string[], options: VerifyOptions, store: Store | undefined): Promise<AuditReport> {
  if (!store) return verifyAuditLog(files, options);
  const anchors = new Map(
    await Promise.all((await knownLogs(store)).map(async (log) => [log, await readAnchor(store, log)] as const)),
  );
  const report = await verifyAuditLog(files, { ...options, anchorOf: async (log) => anchors.get(log) });
  const others = [...anchors.keys()].filter((log) => log !== report.log);
  if (others.length > 0) process.stderr.write(`the database knows other logs, too: ${others.join(" ")}\n`);
  return report;
}

interface VerifyFlags {
  readonly data?: string;
  readonly partial?: boolean;
}

async function verify(files: readonly string[], { data, partial }: VerifyFlags, command: Command): Promise<void> {
  refusePassword(command);
  const parts = await withParts(files, command);
  if (data !== undefined && !isPostgresUrl(data) && !existsSync(data)) command.error(`error: there is no data file ${data}`);
  await using store = data === undefined ? undefined : await openStore(data);
  const report = await checked(parts, { progress: progressLine(), partial: partial === true }, store);
  process.stdout.write(summary(report));
  if (report.damage) process.exitCode = 1;
}

function moment(text: string): number {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new InvalidArgumentError("give a moment such as 2026-11-21 or 2026-11-21T06:00:00Z");
  return at;
}

type ShowFlags = EntryFilter & { readonly json?: boolean };

async function show(files: readonly string[], { json, ...filter }: ShowFlags, command: Command): Promise<void> {
  const parts = await withParts(files, command);
  async function* lines(): AsyncGenerator<string> {
    for await (const fields of selectEntries(parts, filter)) {
      yield `${json === true ? JSON.stringify(fields) : describeEntry(fields)}\n`;
    }
  }
  try {
    await pipeline(lines, process.stdout, { end: false });
  } catch (error) {
    // Whoever reads has seen enough.
    if (codeOf(error) !== "EPIPE") throw error;
  }
}

/** `vaultsync vault audit …` */
export function auditCommand(parent: Command): void {
  const audit = parent
    .command("audit")
    .description("The audit log: what was asked of a vault, by whom, and how it was answered.");
  audit
    .command("verify")
    .description(
      "Checks that no line was altered, taken away, put in or moved. With --data also that the end was not cut off and the whole not written " +
        "anew since the database last looked. Exit code 0: intact, 1: damaged or unreadable, 2: wrong usage.",
    )
    .argument("<file...>", "the log; parts beside it that were put aside are taken with it")
    .addOption(dataOption())
    .option("--partial", "older parts were put away: the log may begin later than with its first line")
    .action(verify);
  audit
    .command("show")
    .description("Prints entries, one a line. It checks nothing: see verify.")
    .argument("<file...>", "the log; parts beside it that were put aside are taken with it")
    .option("--who <email>", "of this account, or claiming to be it")
    .option("--operation <name>", "of this operation, such as expose")
    .option("--name <name>", "about this secret, file or team")
    .option("--since <moment>", "not before", moment)
    .option("--json", "the entries as they stand in the log")
    .action(show);
}
