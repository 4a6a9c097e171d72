import { findCondition } from "../../api/conditions.ts";
import type { Clock } from "../../../lib/clock.ts";
import { isObject } from "../../../lib/is-object.ts";
import { type KubeObject, namespaceOf } from "../../kube/resource.ts";
import { readStatus, type SyncStatus } from "../../sync/stored-status.ts";
import { parseSyncKey } from "../../sync/sync-key.ts";

/** Time in milliseconds after a change for which its pods are looked for. */
export const RECENT_MS = 3_600_000;

/** A write of a target by the operator. */
export interface SeenWrite {
  /** By the clock of the API server, in milliseconds since the epoch. */
  readonly at: number;
  /** It created the target. */
  readonly isCreation: boolean;
  /** Monotonic time at which this process saw it, in milliseconds. */
  readonly seenAt: number;
}

/** A change of a target that its pods may not have yet. */
export interface PendingChange {
  /** `status.syncedAt`: another one is another change. */
  readonly syncedAt: string;
  /** Monotonic time at which this process saw the change, in milliseconds. */
  readonly seenAt: number;
  /** The status has the condition: pods used the target before. */
  readonly isShown: boolean;
  /** The last write of the target, as far as known. */
  written?: SeenWrite;
  /** The nodes that had the former content of an immutable target at the last list. */
  formerNodes?: ReadonlySet<string>;
}

/** Returns the time of the last change, unless it is known what the pods run. */
export function pendingSince(
  { conditions, target, syncedAt }: SyncStatus,
  now: number,
): string | undefined {
  if (target?.digest === undefined || syncedAt === undefined) return undefined;
  const converged = findCondition(conditions, "Converged");
  if (converged !== undefined) return converged.status === "True" ? undefined : syncedAt;
  // A time in the future is one of a clock that was ahead.
  return now - Date.parse(syncedAt) < RECENT_MS ? syncedAt : undefined;
}

/** The changes of targets that are not known to be in use by all pods, by namespace. */
export class PendingChanges {
  readonly #clock: Clock;
  readonly #byNamespace = new Map<string, Map<string, PendingChange>>();
  /** Changes of targets that no pod used. */
  readonly #unused = new Map<string, string>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the changes of a namespace by the keys of their resources. */
  in(namespace: string): ReadonlyMap<string, PendingChange> {
    return this.#byNamespace.get(namespace) ?? new Map();
  }

  namespaces(): Iterable<string> {
    return this.#byNamespace.keys();
  }

  /**
   * Follows the status of a resource; `undefined` if it was deleted. Reports whether a change is
   * new.
   */
  observe(key: string, object: KubeObject | undefined): boolean {
    const { kind, objectKey } = parseSyncKey(key);
    if (object !== undefined && isSettled(object, this.#clock.now())) {
      this.#unused.delete(key);
      this.forget(key);
      return false;
    }
    const status = object && readStatus(kind, object["status"]);
    const syncedAt = status && pendingSince(status, this.#clock.now());
    if (status === undefined) this.#unused.delete(key);
    if (syncedAt === undefined || this.#isUnused(key, status, syncedAt)) {
      this.forget(key);
      return false;
    }
    const isShown = findCondition(status?.conditions, "Converged") !== undefined;
    return this.#record(key, namespaceOf(objectKey), syncedAt, isShown);
  }

  /** Remembers a change, and reports whether it is new. */
  #record(key: string, namespace: string, syncedAt: string, isShown: boolean): boolean {
    const changes = this.#byNamespace.get(namespace) ?? new Map<string, PendingChange>();
    const before = changes.get(key);
    this.#byNamespace.set(namespace, changes);
    if (before?.syncedAt === syncedAt) {
      changes.set(key, { ...before, isShown });
      return false;
    }
    changes.set(key, { syncedAt, seenAt: this.#clock.monotonic(), isShown });
    return true;
  }

  /** Records that no pod used the target at its last change: there is nothing to show. */
  unused(key: string, { syncedAt }: PendingChange): void {
    this.#unused.set(key, syncedAt);
    this.forget(key);
  }

  /** Drops what is pending of a resource. */
  forget(key: string): void {
    const namespace = namespaceOf(parseSyncKey(key).objectKey);
    const changes = this.#byNamespace.get(namespace);
    if (changes?.delete(key) === true && changes.size === 0) this.#byNamespace.delete(namespace);
  }

  #isUnused(key: string, status: SyncStatus | undefined, syncedAt: string): boolean {
    if (this.#unused.get(key) === syncedAt)
      return findCondition(status?.conditions, "Converged") === undefined;
    this.#unused.delete(key);
    return false;
  }
}

/**
 * Reports whether there is surely nothing to prove of a resource. Cheap: most resources are settled,
 * and a status is long.
 */
function isSettled({ status }: KubeObject, now: number): boolean {
  if (!isObject(status)) return true;
  const { conditions, syncedAt } = status;
  const converged = Array.isArray(conditions)
    ? conditions.find((one) => isObject(one) && one["type"] === "Converged")
    : undefined;
  if (isObject(converged)) return converged["status"] === "True";
  return typeof syncedAt !== "string" || now - Date.parse(syncedAt) >= RECENT_MS;
}
