import { type Command, InvalidArgumentError, Option } from "commander";
import { parseForwardTarget, type ForwardTarget } from "../server/audit/forward-target.ts";
import { isPostgresUrl } from "../server/store/postgres/postgres-location.ts";
import type { VaultServerOptions } from "../server/vault-server.ts";
import { messageOf } from "../../lib/errors.ts";

/** Audit log flags of `vaultsync vault serve`. */
export interface AuditFlags {
  readonly auditLog?: string;
  readonly auditLogMaxBytes?: number;
  readonly auditForward?: ForwardTarget;
  readonly auditRetention?: number;
  readonly auditRetentionBytes?: number;
}

const SMALLEST_BYTES = 65_536;

function byteCount(text: string): number {
  const bytes = /^[0-9]{1,15}$/u.test(text) ? Number(text) : 0;
  if (bytes < SMALLEST_BYTES)
    throw new InvalidArgumentError(`expected a number of bytes, at least ${SMALLEST_BYTES}`);
  return bytes;
}

function dayCount(text: string): number {
  if (/^[1-9][0-9]{0,5}$/u.test(text)) return Number(text);
  throw new InvalidArgumentError("expected whole days, at least 1");
}

function forwardTarget(text: string): ForwardTarget {
  try {
    return parseForwardTarget(text);
  } catch (error) {
    throw new InvalidArgumentError(messageOf(error));
  }
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
    )
    .addOption(
      new Option(
        "--audit-forward <target>",
        "copy of each line: stdout, or a syslog server as syslog+tls://HOST, syslog+tcp://HOST or syslog+udp://HOST, with :PORT",
      )
        .env("VAULTSYNC_VAULT_AUDIT_FORWARD")
        .argParser(forwardTarget),
    )
    .addOption(
      new Option(
        "--audit-retention <days>",
        "remove closed segments of the audit log after this many days (default: never)",
      )
        .env("VAULTSYNC_VAULT_AUDIT_RETENTION")
        .argParser(dayCount),
    )
    .addOption(
      new Option(
        "--audit-retention-bytes <bytes>",
        "remove the oldest closed segments beyond this total size, or none (default: half of the volume)",
      )
        .env("VAULTSYNC_VAULT_AUDIT_RETENTION_BYTES")
        .argParser((text) => (text === "none" ? Infinity : byteCount(text))),
    );
}

/**
 * Returns the error of missing audit log flags. With PostgreSQL each replica needs a separate file,
 * so there is no default.
 */
export function auditError({ auditLog }: AuditFlags, data: string | undefined): string | undefined {
  if (auditLog !== undefined || data === undefined || !isPostgresUrl(data)) return undefined;
  return "specify the audit log of this replica with --audit-log FILE, or disable it with --audit-log none";
}

/** Returns the audit log options; an in-memory server keeps no audit log by default. */
export function auditOptions(
  {
    auditLog,
    auditLogMaxBytes,
    auditForward: forward,
    auditRetention: days,
    auditRetentionBytes: bytes,
  }: AuditFlags,
  data: string | undefined,
): Pick<VaultServerOptions, "auditLog"> {
  const file =
    auditLog ?? (data === undefined || data === ":memory:" ? "none" : `${data}-audit.jsonl`);
  if (file === "none") return {};
  const retention = { ...(days !== undefined && { days }), ...(bytes !== undefined && { bytes }) };
  return {
    auditLog: {
      file,
      retention,
      ...(forward && { forward }),
      ...(auditLogMaxBytes !== undefined && { maxBytes: auditLogMaxBytes }),
    },
  };
}
