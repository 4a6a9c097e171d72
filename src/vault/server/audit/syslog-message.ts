import { hostname } from "node:os";

/** Facility 13 (log audit), severity 6 (informational): 13 × 8 + 6. */
const PRIORITY = 110;

/** Characters that a field of the header may have (RFC 5424, section 6). */
function printable(text: string, most: number): string {
  return text.replace(/[^\x21-\x7e]/gu, "").slice(0, most) || "-";
}

const HOST = printable(hostname(), 255);

/**
 * Returns a line of the audit log as a syslog message (RFC 5424), with the time of the line. The
 * line itself is unchanged.
 */
export function syslogMessage(line: string): string {
  const [, time = "-"] = /^\{"seq":[0-9]+,"log":"[^"]*","time":"([^"]*)"/u.exec(line) ?? [];
  return `<${PRIORITY}>1 ${time} ${HOST} vaultsync-vault ${process.pid} audit - ${line}`;
}
