import type { Logger } from "../../../lib/logger.ts";
import type { DamagedRow } from "../store/row-macs.ts";
import type { AuditLog } from "./audit-log.ts";

/** Rows that are reported one by one; later ones are only counted. */
const MOST_REPORTED = 1000;
/** Maximum characters of an address or a name: a writer of the database chooses both. */
const TEXT_CHARACTERS = 320;

/**
 * Reports rows that no server has written: each read of one in a metric, each row once in the log
 * and the audit log.
 */
export class DamageReports {
  readonly #logger: Logger;
  readonly #count: (table: string) => void;
  readonly #reported = new Set<string>();
  /** Set once it is open. */
  audit: AuditLog | undefined;

  /** @param count called with the table of each damaged row that is read */
  constructor(logger: Logger, count: (table: string) => void) {
    this.#logger = logger;
    this.#count = count;
  }

  report({ table, about }: DamagedRow): void {
    this.#count(table);
    const texts = Object.entries(about).map(([name, text]) => [
      name,
      text.slice(0, TEXT_CHARACTERS),
    ]);
    const fields: Record<string, string> = { table, ...Object.fromEntries(texts) };
    const key = JSON.stringify(fields);
    if (this.#reported.has(key) || this.#reported.size >= MOST_REPORTED) return;
    this.#reported.add(key);
    this.#logger.error(
      { event: "damaged_right", ...fields },
      "ignored a row that no server with this master key has written",
    );
    // Again with its next read when the log cannot be written now.
    this.audit?.append({ event: "damaged", ...fields }).catch(() => this.#reported.delete(key));
  }
}
