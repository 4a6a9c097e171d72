import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../lib/clock.ts";
import { isObject } from "../../../lib/is-object.ts";
import type { Logger } from "../../../lib/logger.ts";

/**
 * Time in milliseconds after which a status is written again that was stored in part: the CRD may
 * have been updated since.
 */
export const WRITE_AGAIN_MS = 10 * 60_000;

/**
 * Returns the paths of the fields of `sent` that `stored` lacks, each entry of a list under the
 * same path, for example `items[].owner`.
 */
export function prunedFields(sent: unknown, stored: unknown, path = ""): Set<string> {
  if (Array.isArray(sent)) {
    const entries: unknown[] = Array.isArray(stored) ? stored : [];
    return new Set(
      sent.flatMap((entry, index) => [...prunedFields(entry, entries[index], `${path}[]`)]),
    );
  }
  if (!isObject(sent) || !isObject(stored)) return new Set();
  return new Set(
    Object.entries(sent).flatMap(([name, value]) => {
      if (value === undefined) return [];
      const field = path === "" ? name : `${path}.${name}`;
      return Object.hasOwn(stored, name) ? [...prunedFields(value, stored[name], field)] : [field];
    }),
  );
}

interface Pruned {
  readonly at: number;
  readonly sent: object;
  readonly stored: unknown;
}

/**
 * Stores the statuses whose fields the API server dropped because the installed CRD is older than
 * this operator. Otherwise every reconcile would find a difference and write the status again.
 */
export class PrunedStatuses {
  readonly #byKey = new Map<string, Pruned>();
  readonly #reported = new Set<string>();
  readonly #crd: string;
  readonly #clock: Clock;
  readonly #logger: Logger;

  /** `crd` is the name of the CRD, for the log. */
  constructor(crd: string, clock: Clock, logger: Logger) {
    this.#crd = crd;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Compares a status with what the API server returned for it. Logs each field that it dropped
   * once.
   */
  record(key: string, sent: object, stored: unknown): void {
    const fields = prunedFields(sent, stored ?? {});
    if (fields.size === 0) return this.forget(key);
    this.#byKey.set(key, { at: this.#clock.monotonic(), sent, stored });
    const unreported = [...fields].filter((field) => !this.#reported.has(field));
    if (unreported.length === 0) return;
    for (const field of unreported) this.#reported.add(field);
    const names = unreported.map((field) => `status.${field}`).join(", ");
    this.#logger.warn(
      { key },
      `the CRD ${this.#crd} is older than this operator: the API server drops ${names}; apply the CRDs of this release`,
    );
  }

  /**
   * Reports whether `status` is what was sent when the API server stored `stored`: writing it again
   * changes nothing.
   */
  includes(key: string, stored: unknown, status: object): boolean {
    const pruned = this.#byKey.get(key);
    if (pruned === undefined || this.#clock.monotonic() - pruned.at >= WRITE_AGAIN_MS) return false;
    return isDeepStrictEqual(pruned.stored, stored) && isDeepStrictEqual(pruned.sent, status);
  }

  forget(key: string): void {
    this.#byKey.delete(key);
  }
}
