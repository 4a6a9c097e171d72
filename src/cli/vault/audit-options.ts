import { type Command, InvalidArgumentError, Option } from "commander";
import { isPostgresUrl } from "../../vault-server/store/postgres/postgres-location.ts";
import type { VaultServerOptions } from "../../vault-server/vault-server.ts";

/** The flags of `vaultsync vault serve` about the audit log. */
export interface AuditFlags {
  readonly auditLog?: string;
  readonly auditLogMaxBytes?: number;
}

const SMALLEST_BYTES = 65_536;

function byteCount(text: string): number {
  const bytes = /^[0-9]{1,15}$/u.test(text) ? Number(text) : 0;
  if (bytes < SMALLEST_BYTES) throw new InvalidArgumentError(`give a number of bytes from ${SMALLEST_BYTES}`);
  return bytes;
}

export function addAuditOptions(command: Command): void {
  command
    .addOption(
      new Option(
        "--audit-log <file>",
        "where every operation leaves its lines, or none (default: beside the data file, <data>-audit.jsonl)",
      ).env("VAULTSYNC_VAULT_AUDIT_LOG"),
    )
    .addOption(
      new Option("--audit-log-max-bytes <bytes>", "an audit log that would grow beyond is put aside as <file>.<its first number>")
        .env("VAULTSYNC_VAULT_AUDIT_LOG_MAX_BYTES")
        .argParser(byteCount)
        .default(256 * 1024 * 1024, "256 MiB"),
    );
}

/** Why the flags leave open where the lines go; `undefined` when they don't. Several replicas would have no file in common. */
export function auditFault({ auditLog }: AuditFlags, data: string | undefined): string | undefined {
  if (auditLog !== undefined || data === undefined || !isPostgresUrl(data)) return undefined;
  return "say where this replica keeps its audit log with --audit-log FILE, or that it keeps none with --audit-log none";
}

/** A throw-away server keeps no audit log unless told to. */
export function givenAudit(
  { auditLog, auditLogMaxBytes }: AuditFlags,
  data: string | undefined,
): Pick<VaultServerOptions, "auditLog"> {
  const file = auditLog ?? (data === undefined || data === ":memory:" ? "none" : `${data}-audit.jsonl`);
  if (file === "none") return {};
  return { auditLog: { file, ...(auditLogMaxBytes !== undefined && { maxBytes: auditLogMaxBytes }) } };
}
