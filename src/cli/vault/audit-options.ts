import { type Command, InvalidArgumentError, Option } from "commander";
import { isPostgresUrl } from "../../vault-server/store/postgres/postgres-location.ts";
import type { VaultServerOptions } from "../../vault-server/vault-server.ts";

/** Audit log flags of `vaultsync vault serve`. */
export interface AuditFlags {
  readonly auditLog?: string;
  readonly auditLogMaxBytes?: number;
}

const SMALLEST_BYTES = 65_536;

function byteCount(text: string): number {
  const bytes = /^[0-9]{1,15}$/u.test(text) ? Number(text) : 0;
  if (bytes < SMALLEST_BYTES) throw new InvalidArgumentError(`expected a number of bytes, at least ${SMALLEST_BYTES}`);
  return bytes;
}

export function addAuditOptions(command: Command): void {
  command
    .addOption(
      new Option(
        "--audit-log <file>",
        "audit log of all operations, or none (default: <data>-audit.jsonl; none with --dev in memory)",
      ).env("VAULTSYNC_VAULT_AUDIT_LOG"),
    )
    .addOption(
      new Option(
        "--audit-log-max-bytes <bytes>",
        "rotate the audit log at this size; the closed segment is renamed <file>.<first seq>",
      )
        .env("VAULTSYNC_VAULT_AUDIT_LOG_MAX_BYTES")
        .argParser(byteCount)
        .default(256 * 1024 * 1024, "256 MiB"),
    );
}

/** Returns the error of missing audit log flags. With PostgreSQL each replica needs a file of its own, so there is no default. */
export function auditError({ auditLog }: AuditFlags, data: string | undefined): string | undefined {
  if (auditLog !== undefined || data === undefined || !isPostgresUrl(data)) return undefined;
  return "specify the audit log of this replica with --audit-log FILE, or disable it with --audit-log none";
}

/** Returns the audit log options; an in-memory server keeps no audit log by default. */
export function auditOptions(
  { auditLog, auditLogMaxBytes }: AuditFlags,
  data: string | undefined,
): Pick<VaultServerOptions, "auditLog"> {
  const file = auditLog ?? (data === undefined || data === ":memory:" ? "none" : `${data}-audit.jsonl`);
  if (file === "none") return {};
  return { auditLog: { file, ...(auditLogMaxBytes !== undefined && { maxBytes: auditLogMaxBytes }) } };
}
