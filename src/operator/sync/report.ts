import type { Lifetime } from "./expiry.ts";
import type { ReadyCondition } from "./ready-condition.ts";
import type { Resolution } from "./resolution.ts";
import type { Staleness } from "./staleness.ts";

/**
 * Findings and effects of one reconcile: everything that the status, the events and the log entry
 * are computed from.
 */
export interface Report {
  /** `undefined`: Ready stays unchanged, because nothing new is known. */
  readonly readyCondition: ReadyCondition | undefined;
  /**
   * The Reconciling condition, if the attempt failed and is being retried. The resource may be
   * Ready nevertheless.
   */
  readonly reconciling: Pick<ReadyCondition, "reason" | "message"> | undefined;
  /** Change of the target; `repaired` when it reverted an external one. */
  readonly effect: "none" | "created" | "updated" | "repaired" | "deleted";
  /** The bytes of the target differ from before; a new version may have the same bytes. */
  readonly changed: boolean;
  /**
   * resourceVersion of the target, if this reconcile left it with the content that its annotations
   * claim.
   */
  readonly verified: string | undefined;
  /**
   * Digest of the bytes of the target, if it was read or written; otherwise the digest in the status
   * applies.
   */
  readonly digest: string | undefined;
  /** Digest of the bytes of the former target in the status, if it lost keys. */
  readonly formerDigest?: string | undefined;
  /** Version by key of the target, as far as known. */
  readonly versions: ReadonlyMap<string, number>;
  /** The items under whose keys the target has bytes of another vault. */
  readonly ofOtherVault: ReadonlySet<string>;
  /** The items whose bytes wait for a user to confirm their removal. */
  readonly unconfirmed: ReadonlySet<string>;
  /** The certificates of the items whose bytes were read; `undefined`: they have none. */
  readonly certificates: ReadonlyMap<string, Lifetime | undefined>;
  /** `undefined`: the items stay unchanged. */
  readonly resolutions: readonly Resolution[] | undefined;
  /** `connectionId` of the connection that the resolutions are from. */
  readonly connection: string | undefined;
  /** Value of vaultsync.dev/force-sync, if this reconcile was a forced sync. */
  readonly forced: string | undefined;
  /** Set while the lists of the connection are too old. */
  readonly stale: Staleness | undefined;
}

/** Returns the report of a reconcile that changed nothing, with `changes`. */
export function reportOf(
  readyCondition: ReadyCondition | undefined,
  changes: Partial<Report> = {},
): Report {
  return {
    readyCondition,
    reconciling: undefined,
    effect: "none",
    changed: false,
    verified: undefined,
    digest: undefined,
    versions: new Map(),
    ofOtherVault: new Set(),
    unconfirmed: new Set(),
    certificates: new Map(),
    resolutions: undefined,
    connection: undefined,
    forced: undefined,
    stale: undefined,
    ...changes,
  };
}

/** Adds what an earlier reconcile did and could not report, because writing the status failed. */
export function withUnreported(report: Report, earlier: Report | undefined): Report {
  if (earlier === undefined) return report;
  const effect = report.effect === "none" ? earlier.effect : report.effect;
  const certificates = new Map([...earlier.certificates, ...report.certificates]);
  const digest = report.digest ?? earlier.digest;
  return { ...report, effect, changed: report.changed || earlier.changed, digest, certificates };
}
