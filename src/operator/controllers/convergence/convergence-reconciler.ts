import type { ReconcilerParts } from "../outcome/parts.ts";
import { isObject } from "../../../lib/is-object.ts";
import { mergeConditions, type ConditionNow } from "../../api/conditions.ts";
import { syncedKinds } from "../../api/kinds.ts";
import { FIELD_MANAGER } from "../../api/names.ts";
import { rolloutRestart, type WorkloadKind, workloadKinds } from "../../api/rollout-restart.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import { ifFound, isKubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { writtenBy } from "../../kube/written-at.ts";
import { parseRestartState } from "../../restart/restart-state.ts";
import {
  type Convergence,
  convergedCondition,
  decideConvergence,
  isConverged,
  nodesWithFormer,
} from "../../restart/decide-convergence.ts";
import type { RunningPod } from "../../restart/running-pod.ts";
import type { ReconcileResult } from "../../runtime/controller.ts";
import { forEachKind, parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import { readStatus, type SyncStatus } from "../../sync/stored-status.ts";
import { DONE } from "../outcome/outcome.ts";
import { regarding } from "../outcome/record-readiness.ts";
import { StatusWriter } from "../outcome/status-writer.ts";
import type { WorkloadMetadata } from "../restart/workload.ts";
import type { WorkloadWatch } from "../restart/workload-watch.ts";
import { targetDescriptor } from "../sync/target-metadata.ts";
import { readPods } from "./namespace-pods.ts";
import {
  type PendingChange,
  type PendingChanges,
  pendingSince,
  RECENT_MS,
  type SeenWrite,
} from "./pending-changes.ts";
import { firstOf } from "../../lib/first-of.ts";

export interface ConvergenceReconcilerOptions extends ReconcilerParts {
  readonly resources: Readonly<Record<SyncKind, ReadonlyStore<KubeObject>>>;
  readonly watches: Readonly<Record<WorkloadKind, Pick<WorkloadWatch, "store">>>;
  readonly pending: PendingChanges;
  readonly volumeSyncMs: number;
}

/** Shortest and longest time between two lists, in milliseconds. The time doubles. */
const BACKOFF_MS = { shortest: 5_000, longest: 300_000 };
/**
 * Time in milliseconds by which the clocks of the operator and the API server may differ, for a
 * target that does not say when it was written.
 */
const SKEW_MS = 120_000;
/** Maximum number of sources named in an event. */
const MAX_NAMED = 5;

const UNKNOWN: ConditionNow = {
  type: "Converged",
  status: "Unknown",
  reason: "PodsUnknown",
  message:
    "the operator may not list pods: grant it list, as deploy/chart/files/base/rbac.yaml does",
};

/** A resource whose target changed. */
interface Changed {
  readonly key: string;
  readonly kind: SyncKind;
  readonly object: KubeObject;
  readonly status: SyncStatus;
  readonly target: NonNullable<SyncStatus["target"]>;
  readonly change: PendingChange;
}

/**
 * Compares the pods of a namespace with the changes of its targets, level-triggered, and writes the
 * condition Converged, if it changes. The reconciler of the resource is another writer of the
 * status: the version of the resource is the precondition of both.
 */
export class ConvergenceReconciler {
  readonly #options: ConvergenceReconcilerOptions;
  readonly #writers: Readonly<Record<SyncKind, StatusWriter>>;
  /** Namespaces whose pods the operator may not list. */
  readonly #denied = new Set<string>();

  constructor(options: ConvergenceReconcilerOptions) {
    const { api, clock } = options;
    this.#options = options;
    this.#writers = forEachKind((kind) => new StatusWriter(api, syncedKinds[kind], clock));
  }

  /** Drops what is remembered of a deleted resource. */
  forget(key: string): void {
    this.#writers[parseSyncKey(key).kind].forget(key);
  }

  /** @throws when the reconcile is to be retried */
  async reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { api, pending, clock } = this.#options;
    this.#dropOld(namespace);
    if (pending.in(namespace).size === 0) return DONE;
    const pods = await readPods(api, namespace, signal);
    this.#logDenied(namespace, pods === undefined);
    let isOutdated = false;
    for (const [key, change] of pending.in(namespace)) {
      const changed = this.#changed(key, change);
      if (changed === undefined) continue;
      try {
        if (pods !== undefined) await this.#prove(changed, namespace, pods, signal);
        else if (change.isShown) await this.#write(changed, UNKNOWN, signal);
      } catch (error) {
        if (!isKubeError(error, "Conflict")) throw error;
        isOutdated = true;
      }
    }
    if (isOutdated) return { outcome: "retry", cause: "api", reason: "Conflict" };
    const shortest = pods === undefined ? BACKOFF_MS.longest : BACKOFF_MS.shortest;
    const ms = this.#nextInMs([...pending.in(namespace).values()], shortest, clock.monotonic());
    return ms === undefined ? DONE : { outcome: "done", wait: { for: "time", atMostMs: ms } };
  }

  /** Ends the search for pods of targets that none is known to have used. */
  #dropOld(namespace: string): void {
    const { pending, clock } = this.#options;
    for (const [key, { seenAt, isShown }] of pending.in(namespace))
      if (!isShown && clock.monotonic() - seenAt >= RECENT_MS) pending.forget(key);
  }

  /** Returns the resource of a change, if its status still shows this change. */
  #changed(key: string, change: PendingChange): Changed | undefined {
    const { kind, objectKey } = parseSyncKey(key);
    const object = this.#options.resources[kind].get(objectKey);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
    const status = readStatus(kind, this.#writers[kind].current(key, object));
    const { target } = status;
    const isCurrent = pendingSince(status, this.#options.clock.now()) === change.syncedAt;
    return target === undefined || !isCurrent
      ? undefined
      : { key, kind, object, status, target, change };
  }

  async #prove(
    changed: Changed,
    namespace: string,
    pods: readonly RunningPod[],
    signal: AbortSignal,
  ): Promise<void> {
    const { pending } = this.#options;
    const { key, status, target, change } = changed;
    const names = [`${target.kind}/${target.name}`, ...(status.formerTargets ?? [])];
    const isUsed = pods.some(({ uses }) => names.some((one) => uses.has(one)));
    if (!isUsed && !change.isShown) return pending.unused(key, change);
    // Only a read shows a later write of the target: it makes pods old, and none new.
    const known = change.written && this.#decide(changed, change.written, pods);
    if (known !== undefined && !isConverged(known))
      return this.#write(changed, convergedCondition(known), signal);
    const written = await this.#readWrite(changed, namespace, signal);
    if (written === undefined) return;
    const found = this.#decide(changed, written, pods);
    await this.#write(changed, convergedCondition(found), signal);
    if (!isConverged(found)) return;
    pending.forget(key);
    if (found.users > 0) this.#recordEvent(changed);
  }

  /**
   * Reads when the operator wrote the target last; `undefined` if there is none. After the list of
   * the pods: what changed since counts as well.
   */
  async #readWrite(
    { target, change }: Changed,
    namespace: string,
    signal: AbortSignal,
  ): Promise<SeenWrite | undefined> {
    const { api, clock } = this.#options;
    const kind = target.kind === "ConfigMap" ? "ConfigMap" : "Secret";
    const ref = { namespace, name: target.name };
    const object = await ifFound(api.getMetadata(targetDescriptor[kind], ref, signal));
    if (object === undefined) return undefined;
    const at = writtenBy(FIELD_MANAGER, object.metadata) ?? Date.parse(change.syncedAt) + SKEW_MS;
    const isCreation = Date.parse(object.metadata.creationTimestamp ?? "") >= at;
    if (change.written?.at !== at) change.written = { at, isCreation, seenAt: clock.monotonic() };
    return change.written;
  }

  /** Decides by the time of the last write of the target. */
  #decide(changed: Changed, written: SeenWrite, pods: readonly RunningPod[]): Convergence {
    const { volumeSyncMs, clock } = this.#options;
    const { object, status, target, change: pending } = changed;
    const change = {
      target: `${target.kind}/${target.name}`,
      formerTargets: status.formerTargets ?? [],
      changedAt: written.at,
      isCreation: written.isCreation,
      isMounted: clock.monotonic() - written.seenAt >= volumeSyncMs,
      isImmutable: isImmutable(object),
      syncPeriodMs: volumeSyncMs,
    };
    const formerNodes = nodesWithFormer(pods, change, pending.formerNodes);
    pending.formerNodes = formerNodes;
    const isRestarted = (workload: string): boolean => this.#isRestarted(workload, changed);
    return decideConvergence(pods, { ...change, formerNodes }, isRestarted);
  }

  /**
   * Reports whether the operator restarts a workload for the content of a resource, or has and
   * follows the rollout. A workload that records this content without that, as at the first sync, is
   * not restarted again.
   */
  #isRestarted(workload: string, { kind: of, object, target }: Changed): boolean {
    const {
      spec,
      metadata: { namespace = "", name: source },
    } = object;
    const [kindName, name = ""] = workload.split("/");
    const kind = workloadKinds.find((one) => one === kindName);
    if (kind === undefined) return false;
    const metadata = this.#options.watches[kind].store.get(`${namespace}/${name}`);
    const { sources, restart } = parseRestartState(metadata?.state);
    const isRolling = restart !== undefined && restart.result === undefined;
    if (sources.get(`${of}/${source}`) === target.digest && !isRolling) return false;
    if (metadata?.auto === true) return true;
    const restarts = isObject(spec) ? rolloutRestart.safeParse(spec["rolloutRestart"]).data : [];
    return (restarts ?? []).some(
      (one) =>
        one.kind === kind &&
        (one.name === name || (metadata !== undefined && selects(one.selector, metadata))),
    );
  }

  async #write(
    { key, kind, object, change }: Changed,
    condition: ConditionNow,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#options;
    const current = this.#writers[kind].current(key, object);
    const status = readStatus(kind, current);
    if (!isObject(current) || status.syncedAt !== change.syncedAt) return;
    const { conditions = [], observedGeneration = 0 } = status;
    const timestamp = new Date(clock.now()).toISOString();
    const next = [
      ...conditions.filter(({ type }) => type !== "Converged"),
      ...mergeConditions(conditions, [condition], observedGeneration, timestamp),
    ];
    const { formerTargets, ...rest } = current;
    const isKept = condition.status !== "True" && formerTargets !== undefined;
    const written = { ...rest, conditions: next, ...(isKept && { formerTargets }) };
    await this.#writers[kind].write(key, object, written, signal);
  }

  #recordEvent({ object, status: { items = [] } }: Changed): void {
    const versions = items.flatMap((item) =>
      item.version === undefined
        ? []
        : [`${"filename" in item ? item.filename : item.key} ${item.version}`],
    );
    this.#options.events.record({
      ...regarding(object),
      type: "Normal",
      reason: "Converged",
      action: "Prove",
      note: `every pod that uses the target runs ${firstOf(versions, { max: MAX_NAMED })}`,
    });
  }

  /**
   * Returns the time in milliseconds until the next list; `undefined` if only a change of a
   * workload, or the resync, causes one.
   */
  #nextInMs(changes: readonly PendingChange[], shortest: number, now: number): number | undefined {
    const { volumeSyncMs } = this.#options;
    const age = Math.min(...changes.map(({ seenAt }) => now - seenAt));
    if (age >= RECENT_MS) return undefined;
    const mounts = changes
      .map(({ written }) => (written?.seenAt ?? -Infinity) + volumeSyncMs - now)
      .filter((ms) => ms > 0);
    const backoff = Math.min(Math.max(age, shortest), BACKOFF_MS.longest);
    return Math.min(backoff, ...mounts);
  }

  #logDenied(namespace: string, isDenied: boolean): void {
    if (!isDenied) this.#denied.delete(namespace);
    else if (!this.#denied.has(namespace)) {
      this.#denied.add(namespace);
      const { logger } = this.#options;
      const fields = { resource: "pods", namespace, reason: "Forbidden" };
      logger.info(fields, "pods are not listed: Converged is not shown");
    }
  }
}

function isImmutable({ spec }: KubeObject): boolean {
  const target = isObject(spec) ? spec["target"] : undefined;
  return isObject(target) && target["immutable"] === true;
}

const selects = (
  selector: { readonly matchLabels: Readonly<Record<string, string>> } | undefined,
  { labels }: WorkloadMetadata,
): boolean =>
  selector !== undefined &&
  Object.entries(selector.matchLabels).every(([label, value]) => labels[label] === value);
