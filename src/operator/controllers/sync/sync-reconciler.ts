import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import { GONE, type ReconcileResult } from "../../runtime/controller.ts";
import { connectionKey } from "../../api/connection-key.ts";
import { decide, type Decision, isDropped, targetConflict } from "../../sync/decide.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import { type Report, reportOf, withUnreported } from "../../sync/report.ts";
import type { Resolution } from "../../sync/resolve.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import {
  isForced,
  isVerifiedBy,
  nextStatus,
  readStatus,
  type SyncStatus,
} from "../../sync/sync-status.ts";
import type { TargetState } from "../../sync/target.ts";
import { StatusWriter } from "../outcome/status-writer.ts";
import { type WriteObserver, DONE, waitFor } from "../outcome/outcome.ts";
import { becomeMerged, type BecomeMergedOptions } from "./become-merged.ts";
import type { CurrentTarget } from "./gather-content.ts";
import { findSources, isCovered } from "./find-sources.ts";
import { deniedResult } from "./write-failure.ts";
import { syncForced, withEcho } from "./forced-sync.ts";
import { currentState, findTarget, type FoundTarget, lookUpTarget } from "./look-up-target.ts";
import { explainToUser } from "../../connection/connection-problem.ts";
import type { OpenConnection } from "../connection/connection-registry.ts";
import type { FreshLists } from "../outcome/fresh-lists.ts";
import { type ConnectionSources, findConnection } from "./find-connection.ts";
import { nextWait } from "./next-wait.ts";
import { recordEvents } from "./record-events.ts";
import {
  deadlinesOf,
  NO_DEADLINES,
  type ResolveInput,
  resolveItems,
  syncedVersions,
  withReported,
} from "./resolve-items.ts";
import type { Propagations } from "./propagations.ts";
import { type Memory, ResourceMemory } from "./resource-memory.ts";
import { removeFormerTargets } from "./release-target.ts";
import { RevocableReads } from "./revocable-reads.ts";
import type { SourceKind } from "./source-kind.ts";
import { showsOutdatedList } from "./shows-outdated-list.ts";
import { parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import { awaitConnection, type SyncResult, TARGET_WAIT_MS, targetChanged } from "./sync-result.ts";
import type { TargetWriter } from "./target-writer.ts";

/** One kind of resources, and their watch. */
export interface SyncedKind {
  readonly source: SourceKind;
  readonly resources: ReadonlyStore<KubeObject>;
}

export interface SyncReconcilerOptions extends ConnectionSources, BecomeMergedOptions {
  readonly kinds: Readonly<Record<SyncKind, SyncedKind>>;
  readonly writer: TargetWriter;
  readonly lists: FreshLists;
  readonly propagations: Propagations;
  readonly observer: WriteObserver;
  readonly api: KubeApi;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Input of one reconcile. */
interface SyncContext {
  readonly key: string;
  readonly source: SourceKind;
  readonly resource: SyncResource;
  readonly before: SyncStatus;
  readonly memory: Memory;
  readonly signal: AbortSignal;
  /** Ends the reads of the vault, also when the access of the resource changes. */
  readonly reads: AbortSignal;
  /** The target was another one than the watch had shown, and is decided for again. */
  readonly isSecond?: true;
}

const reported = (
  readyCondition: ReadyCondition | undefined,
  changes: Partial<Report> = {},
): SyncResult => ({
  report: reportOf(readyCondition, changes),
  next: DONE,
});

/**
 * Reconciles VaultSecrets and VaultFiles, level-triggered: gathers what is known (the own store,
 * the mirror of the vault, the metadata of the target), decides without I/O, applies the plan, and
 * writes the status if it changed; see docs/design/engine.md#data-flow. The way of one reconcile is
 * that of the methods below, from top to bottom.
 */
export class SyncReconciler {
  readonly #options: SyncReconcilerOptions;
  readonly #statuses: Readonly<Record<SyncKind, StatusWriter>>;
  readonly #memory = new ResourceMemory();
  readonly #reads = new RevocableReads();

  constructor(options: SyncReconcilerOptions) {
    const { api, kinds, clock, logger } = options;
    this.#options = options;
    this.#statuses = {
      VaultSecret: new StatusWriter(api, kinds.VaultSecret.source.descriptor, clock, logger),
      VaultFile: new StatusWriter(api, kinds.VaultFile.source.descriptor, clock, logger),
    };
  }

  /**
   * Returns the delay after which a resource is to be reconciled whose status another process
   * changed; see StatusWriter.
   */
  statusRepairDelay(key: string, before: KubeObject, now: KubeObject): number | undefined {
    return this.#statuses[parseSyncKey(key).kind].repairDelay(key, before, now);
  }

  /**
   * Ends the reads through a connection whose access has changed, of one namespace or all. Their
   * resources are reconciled again.
   */
  endReads(connection: string, namespace: string | undefined): void {
    this.#reads.end(connection, namespace);
  }

  /** Drops all state of a deleted resource. The API server garbage-collects its target. */
  forget(key: string): void {
    this.#statuses[parseSyncKey(key).kind].forget(key);
    this.#memory.forget(key);
    this.#options.lists.forget(key);
    this.#options.propagations.forget(key);
  }

  /** @throws when the reconcile is to be retried */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { kind, objectKey } = parseSyncKey(key);
    const { source, resources } = this.#options.kinds[kind];
    const object = resources.get(objectKey);
    if (object === undefined) return GONE;
    if (object.metadata.deletionTimestamp !== undefined) return DONE;
    const parsed = source.parse(object);
    const { resource } = parsed;
    const before = readStatus(kind, this.#statuses[kind].current(key, object));
    const context = {
      key,
      source,
      resource,
      before,
      memory: this.#memory.of(key, resource.uid),
      signal,
      reads: signal,
    };
    const change = this.#options.propagations.current(key);
    const { report, next } = parsed.ok
      ? await this.#sync(context).catch((error: unknown) => deniedResult(error, resource))
      : reported(parsed.readyCondition);
    if (next.outcome === "done") this.#options.propagations.ended(key, change);
    if (report === undefined) return next;
    await this.#publish(context, object, withEcho(report, resource, before));
    this.#options.lists.reported(key);
    return nextWait(next, report, this.#options.clock.now());
  }

  async #sync(context: SyncContext): Promise<SyncResult> {
    const { key, source, resource, before } = context;
    if (resource.suspend)
      return reported(notReady("Suspended", "spec.suspend is true: the target is left unchanged"));
    const access = findConnection(this.#options, source.entries, resource, before);
    if ("report" in access) {
      if (access.report?.readyCondition?.reason === "NamespaceNotAllowed")
        context.memory.deadlines = NO_DEADLINES;
      return access;
    }
    const forced = { key, resource, before, access, entries: source.entries };
    return syncForced(this.#options.lists, forced, () => this.#syncListed(context, access));
  }

  async #syncListed(context: SyncContext, access: OpenConnection): Promise<SyncResult> {
    const { source, resource, before } = context;
    const { snapshot, health } = access.connection;
    if (snapshot !== undefined && isCovered({ source, resource, snapshot })) {
      const { deadlines } = context.memory;
      const grant = this.#options.access.of(
        connectionKey(resource.connection, resource.namespace),
        resource.namespace,
      );
      const input = {
        ...context,
        deadlines,
        access,
        grant,
        snapshot,
        now: this.#options.clock.now(),
      };
      if (resource.connection.kind === "VaultConnection")
        return this.#syncFromSnapshot(context, input);
      return this.#reads.run(resource, context.signal, (reads) =>
        this.#syncFromSnapshot({ ...context, reads }, input),
      );
    }
    if (health.state !== "failing" && access.stale === undefined)
      return { report: undefined, next: waitFor("connection") };
    const { kind } = resource.connection;
    const why = health.error
      ? explainToUser(health.error, access.facts, kind)
      : "waiting for the first list of the vault";
    return awaitConnection(resource, before, why, access.stale);
  }

  async #syncFromSnapshot(context: SyncContext, input: ResolveInput): Promise<SyncResult> {
    const { resource, before, signal } = context;
    return this.#syncTarget(
      context,
      input,
      await findTarget(this.#options, resource, before, signal),
    );
  }

  /**
   * Gathers, decides and applies. A target that was edited is decided for again, without relying on
   * its annotations.
   */
  async #syncTarget(
    context: SyncContext,
    input: ResolveInput,
    state: FoundTarget,
  ): Promise<SyncResult> {
    if (state === "whole") return this.#becomeMerged(context, input);
    if (state === "deleting") return { report: undefined, next: waitFor("target", TARGET_WAIT_MS) };
    const found = findSources(input, state);
    if ("reason" in found) return reported(found, { stale: input.access.stale });
    return this.#syncFound({ ...context, resource: found.resource }, found, state);
  }

  /** The watch may lag behind the release, so the state after it is read. */
  async #becomeMerged(context: SyncContext, input: ResolveInput): Promise<SyncResult> {
    const { resource, source, signal } = context;
    await becomeMerged(this.#options, resource, source.descriptor, signal);
    const state = await lookUpTarget(this.#options, resource, signal);
    return state === "whole"
      ? targetChanged("the target was changed concurrently")
      : this.#syncTarget(context, input, state);
  }

  async #syncFound(
    context: SyncContext,
    input: ResolveInput,
    found: TargetState,
  ): Promise<SyncResult> {
    const { resource, before, signal } = context;
    let state = found;
    const corrupted = state.state === "owned" && state.annotationsCorrupted;
    if (corrupted) state = withReported(resource, before, state);
    this.#trustStatus(context, state);
    let [decision, resolutions] = decideFor(input, state);
    const wait = this.#options.targets.repairWait(resource, state);
    if (wait !== undefined && decision.plan.action !== "keep") {
      const facts = { resolutions, connection: input.access.id, stale: input.access.stale };
      return {
        report: reportOf(wait.condition, {
          ...facts,
          versions: syncedVersions(input, resolutions, state),
        }),
        next: waitFor("target", wait.ms),
      };
    }
    const current = await this.#options.writer.read(decision.plan, resource, state, signal);
    if ("now" in current) {
      if (context.isSecond === true) return targetChanged("the target was changed concurrently");
      return this.#syncTarget(
        { ...context, isSecond: true },
        input,
        currentState(resource, current.now),
      );
    }
    if (current.object !== undefined && !current.trusted && !corrupted) {
      state = withReported(resource, before, state);
      [decision, resolutions] = decideFor(input, state);
    }
    context.memory.deadlines = deadlinesOf(input.access.id, resolutions);
    return this.#apply(context, input, { decision, resolutions, state, current });
  }

  async #apply(context: SyncContext, input: ResolveInput, decided: Decided): Promise<SyncResult> {
    const { access } = input;
    const { decision, resolutions, state, current } = decided;
    const { key, source, resource, before, memory, signal, reads } = context;
    const facts = { resolutions, connection: access.id, stale: access.stale };
    const versions = syncedVersions({ before, access }, resolutions, state);
    const unchanged = reportOf(decision.readyCondition, { ...facts, versions });
    const isNewSpec = before.observedGeneration !== resource.generation;
    const plan = {
      resource,
      owner: source.descriptor,
      state,
      current,
      isNewSpec,
      report: unchanged,
      signal,
      reads,
    };
    try {
      const result = await this.#options.writer.apply(decision.plan, plan);
      const { report, next } = result;
      if (report.effect !== "none") {
        memory.unreported = withUnreported(report, memory.unreported);
        this.#options.propagations.written(key);
        this.#options.observer.written(resource.kind, report.effect);
      }
      const isReplaced =
        report.verified !== undefined || (resolutions.length > 0 && resolutions.every(isDropped));
      if (isReplaced) await removeFormerTargets(this.#options, resource, signal);
      if (showsOutdatedList(report, decision, before)) access.connection.pollSoon();
      const isIdle = next.outcome === "done" && next.wait === undefined;
      return !this.#options.targets.isWatched(resource) && isIdle
        ? { report, next: waitFor("target") }
        : result;
    } catch (error) {
      if (isKubeError(error, "AlreadyExists"))
        return this.#resolveNameConflict(context, input, reportOf(undefined, facts));
      if (isKubeError(error, "NamespaceTerminating"))
        return { report: undefined, next: waitFor("namespace") };
      throw error;
    }
  }

  /**
   * The watch shows only objects with the operator's label; an object without it is found when
   * creating the target fails.
   */
  async #resolveNameConflict(
    context: SyncContext,
    input: ResolveInput,
    report: Report,
  ): Promise<SyncResult> {
    const { resource, signal } = context;
    const state = await lookUpTarget(this.#options, resource, signal);
    if (state === "deleting" || state === "whole" || state.state === "absent")
      return targetChanged("the target was created concurrently");
    if (state.state === "owned") return this.#syncTarget(context, input, state);
    return { report: { ...report, readyCondition: targetConflict(resource, state) }, next: DONE };
  }

  /**
   * After a restart, a target that has not changed since the status was written need not be read.
   */
  #trustStatus({ resource, before }: SyncContext, state: TargetState): void {
    const { targets } = this.#options;
    if (isForced(resource, before)) return targets.distrust(resource);
    if (
      state.state !== "owned" ||
      state.annotationsCorrupted ||
      targets.isVerified(resource, state)
    )
      return;
    if (isVerifiedBy(before, resource, state.resourceVersion))
      targets.markVerified(resource, state);
  }

  /** Writes the status, records the events, and logs a write. */
  async #publish(
    { key, resource, before, memory, signal }: SyncContext,
    object: KubeObject,
    now: Report,
  ): Promise<void> {
    const { events, clock, logger } = this.#options;
    const report = withUnreported(now, memory.unreported);
    const status = nextStatus(before, { ...report, resource, now: clock.now() });
    await this.#statuses[resource.kind].write(key, object, status, signal);
    memory.unreported = undefined;
    recordEvents(events, object, resource, report, { before, now: status });
    if (report.effect === "none") return;
    const { kind, name } = resource.target;
    logger.info(
      { controller: resource.kind, key, action: report.effect, target: `${kind}/${name}` },
      `target ${report.effect}`,
    );
  }
}

/** A decision and the target that it is for. */
interface Decided {
  readonly decision: Decision;
  readonly resolutions: readonly Resolution[];
  readonly state: TargetState;
  readonly current: CurrentTarget;
}

function decideFor(input: ResolveInput, state: TargetState): [Decision, Resolution[]] {
  const resolutions = resolveItems(input, state);
  return [decide(input.resource, resolutions, state), resolutions];
}
