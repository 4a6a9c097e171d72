import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../../lib/clock.ts";
import { type Logger, silentLogger } from "../../../lib/logger.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject, ResourceDescriptor } from "../../kube/resource.ts";
import { logReadyChange } from "./record-readiness.ts";
import { countRepair, type RepairCount, repairDelay } from "./repair-count.ts";
import { isOlder, OwnWrites, type Versioned, WATCH_LAG_MS } from "./own-writes.ts";
import { PrunedStatuses } from "./pruned-statuses.ts";

interface StoredStatus extends Versioned {
  readonly status: unknown;
}

interface InFlight {
  readonly status: object;
  /** The state in which the watch showed it. */
  shown?: StoredStatus;
}

/**
 * Number of repairs, each soon after the last, from which on another writer is certain: restarts
 * and new leaders write a few times.
 */
const CONTESTED = 4;

/** A state that another writer has replaced. */
interface Outdated extends Versioned {
  /** Monotonic time of the conflict that showed it. */
  readonly at: number;
  /** The write before was a conflict with the same state. */
  readonly isRepeated: boolean;
}

/**
 * Writes the statuses of one kind of resource, each only if it changed, and logs each change of the
 * condition Ready; see docs/design/status.md#status-writes.
 */
export class StatusWriter {
  readonly #api: Pick<KubeApi, "replaceStatus">;
  readonly #descriptor: ResourceDescriptor;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #ownWrites: OwnWrites<StoredStatus>;
  /** Statuses whose write has no response yet: the watch may show them before. */
  readonly #inFlight = new Map<string, InFlight>();
  /** Resources whose status may be from another writer. */
  readonly #unknown = new Set<string>();
  /** The recent writes that replaced such a status. */
  readonly #repairs = new Map<string, RepairCount>();
  readonly #pruned: PrunedStatuses;
  /** The last states whose write was a conflict. */
  readonly #outdated = new Map<string, Outdated>();

  constructor(
    api: Pick<KubeApi, "replaceStatus">,
    descriptor: ResourceDescriptor,
    clock: Clock,
    logger: Logger = silentLogger,
  ) {
    this.#api = api;
    this.#descriptor = descriptor;
    this.#logger = logger;
    this.#clock = clock;
    this.#ownWrites = new OwnWrites(clock);
    this.#pruned = new PrunedStatuses(`${descriptor.plural}.${descriptor.group}`, clock, logger);
  }

  /** Returns the status that was written last. The watch may not show it yet. */
  current(key: string, object: KubeObject): unknown {
    return this.#stored(key, object).status;
  }

  /** @throws KubeError, `Conflict` when the resource has changed concurrently */
  async write(key: string, object: KubeObject, status: object, signal: AbortSignal): Promise<void> {
    const stored = this.#stored(key, object);
    const isUnknown = this.#unknown.delete(key);
    if (
      isDeepStrictEqual(stored.status ?? {}, status) ||
      this.#pruned.includes(key, stored.status, status)
    )
      return;
    if (isUnknown) this.#countRepair(key);
    const { namespace, name } = object.metadata;
    const { uid, resourceVersion } = stored;
    const inFlight: InFlight = { status };
    this.#inFlight.set(key, inFlight);
    try {
      const written = await this.#api.replaceStatus(
        this.#descriptor,
        { namespace, name, uid, resourceVersion },
        status,
        signal,
      );
      const state = stateOf(written);
      this.#ownWrites.recordWrite(
        key,
        inFlight.shown?.resourceVersion === state.resourceVersion ? inFlight.shown : state,
      );
      this.#pruned.record(key, status, written["status"]);
      logReadyChange(
        this.#logger,
        { controller: this.#descriptor.kind, key },
        stored.status,
        status,
      );
    } catch (error) {
      if (isKubeError(error, "Conflict")) this.#recordConflict(key, stored);
      // A deleted resource needs no status.
      if (!isKubeError(error, "NotFound")) throw error;
    } finally {
      this.#inFlight.delete(key);
    }
  }

  /**
   * Reports whether two conflicts in a row have shown that the object is newer than what the watch
   * shows: a reconcile would write what its former spec requests. `false` after
   * {@link WATCH_LAG_MS}: conflicts may have another cause, and a retry is due then.
   */
  isOutdated(key: string, object: KubeObject): boolean {
    const outdated = this.#outdated.get(key);
    if (outdated === undefined) return false;
    const { uid, resourceVersion } = stateOf(object);
    if (
      uid !== outdated.uid ||
      (resourceVersion !== outdated.resourceVersion &&
        !isOlder(resourceVersion, outdated.resourceVersion))
    ) {
      this.#outdated.delete(key);
      return false;
    }
    return outdated.isRepeated && this.#clock.monotonic() - outdated.at < WATCH_LAG_MS;
  }

  /**
   * Returns the time in milliseconds after which to reconcile a resource whose changed status the
   * watch shows; `undefined` for an own write. A status that another writer changed is repaired
   * immediately twice within a minute; then the delay grows up to 5 minutes: two operators must not
   * overwrite each other's statuses as fast as the API server permits.
   */
  repairDelay(key: string, before: KubeObject, now: KubeObject): number | undefined {
    if (!this.#isUnknown(key, before, now)) return undefined;
    this.#unknown.add(key);
    return repairDelay(this.#repairs.get(key), this.#clock.monotonic());
  }

  /**
   * Reports whether the watch shows a status that this process did not know: one from another
   * process, or an own one that it no longer remembered. A reconcile before may have skipped a
   * write because of the outdated status.
   */
  #isUnknown(key: string, before: KubeObject, now: KubeObject): boolean {
    const { status } = now;
    const state = stateOf(now);
    const isOwn = this.#ownWrites.observe(key, state);
    if (isDeepStrictEqual(before["status"], status)) return false;
    const inFlight = this.#inFlight.get(key);
    if (inFlight === undefined || !isDeepStrictEqual(inFlight.status, status)) return !isOwn;
    inFlight.shown = state;
    return false;
  }

  forget(key: string): void {
    this.#ownWrites.forget(key);
    this.#unknown.delete(key);
    this.#repairs.delete(key);
    this.#pruned.forget(key);
    this.#outdated.delete(key);
  }

  #recordConflict(key: string, { uid, resourceVersion }: StoredStatus): void {
    const before = this.#outdated.get(key);
    const isRepeated = before?.uid === uid && before.resourceVersion === resourceVersion;
    this.#outdated.set(key, { uid, resourceVersion, at: this.#clock.monotonic(), isRepeated });
  }

  #countRepair(key: string): void {
    const repairs = countRepair(this.#repairs.get(key), this.#clock.monotonic());
    this.#repairs.set(key, repairs);
    if (repairs.count !== CONTESTED) return;
    this.#logger.warn(
      { controller: this.#descriptor.kind, key },
      "another program keeps changing this status; is a second operator running?",
    );
  }

  #stored(key: string, object: KubeObject): StoredStatus {
    const watched = stateOf(object);
    const newest = this.#ownWrites.newest(key, watched);
    return newest?.uid === watched.uid ? newest : watched;
  }
}

function stateOf({ metadata, status }: KubeObject): StoredStatus {
  return { uid: metadata.uid ?? "", resourceVersion: metadata.resourceVersion ?? "", status };
}
