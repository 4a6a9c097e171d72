import type { ReconcilerParts } from "../outcome/parts.ts";
import { findCondition } from "../../api/conditions.ts";
import { type Decision, targetConflict } from "../../sync/decide.ts";
import { isDropped } from "../../sync/gone-claims.ts";
import { type SyncStatus, readStatus } from "../../sync/stored-status.ts";
import {
  reportedExpiries,
  firstTargetDueInMs,
  hadTarget,
  isForced,
  isVerifiedBy,
  nextStatus,
} from "../../sync/sync-status.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { type ReconcileResult } from "../../runtime/controller.ts";
import { connectionKey } from "../../api/connection-key.ts";
import { type ReadyCondition, SUSPENDED } from "../../sync/ready-condition.ts";
import { type Report, reportOf, withUnreported } from "../../sync/report.ts";
import { isMerged } from "../../sync/sync-resource.ts";
import type { TargetState } from "../../sync/target.ts";
import { StatusWriter } from "../outcome/status-writer.ts";
import { type WriteObserver, AWAIT_WATCH, DONE, waitFor } from "../outcome/outcome.ts";
import { decideBeforeRead, decideFor, reportUnread, withoutRead } from "./decide-for.ts";
import { becomeMerged, type BecomeMergedOptions } from "./become-merged.ts";
import { findSources, isCovered } from "./find-sources.ts";
import { deniedResult } from "./write-failure.ts";
import { syncForced, withEcho } from "./forced-sync.ts";
import { currentState, findTarget, type FoundTarget, lookUpTarget } from "./look-up-target.ts";
import { explainToUser } from "../../connection/connection-problem.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import type { FreshLists } from "../outcome/fresh-lists.ts";
import type { Freezes } from "./freezes.ts";
import { type ConnectionSources, findConnection } from "./find-connection.ts";
import { nextWait } from "./next-wait.ts";
import { recordEvents } from "./record-events.ts";
import { isShared, withReported } from "./reported-versions.ts";
import type { Propagations } from "./propagations.ts";
import {
  deadlinesOf,
  forgetUnfollowed,
  ResourceMemory,
  withoutTargetMs,
} from "./resource-memory.ts";
import { releaseUnselected } from "./release-unselected.ts";
import { removeFormerTargets, removeGoneFromFormers } from "./release-target.ts";
import { RevocableReads } from "./revocable-reads.ts";
import { hasKeys } from "./shown-resource.ts";
import type { SyncedKind } from "./source-kind.ts";
import type { Listed, Observed, Planned, Started } from "./stages.ts";
import { fansOut, forEachKind, parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import { awaitConnection, type SyncResult, TARGET_WAIT_MS, targetChanged } from "./sync-result.ts";
import type { TargetWriter } from "./target-writer.ts";

export interface SyncReconcilerOptions
  extends ConnectionSources, BecomeMergedOptions, ReconcilerParts {
  readonly kinds: Readonly<Record<SyncKind, SyncedKind>>;
  readonly writer: TargetWriter;
  readonly lists: FreshLists;
  readonly freezes: Pick<Freezes, "of">;
  readonly propagations: Propagations;
  readonly observer: WriteObserver;
  /** The operator shows which workloads run the content of targets. */
  readonly provesUse: boolean;
}

const reported = (
  readyCondition: ReadyCondition | undefined,
  changes: Partial<Report> = {},
): SyncResult => ({
  report: reportOf(readyCondition, changes),
  next: DONE,
});

/**
 * Reconciles VaultSecrets and VaultFiles, level-triggered, in four stages: observes what is known
 * (the own store, the mirror of the vault, the metadata of the target), decides without I/O,
 * executes the plan, and reports it in the status if that changed; see
 * docs/design/engine.md#data-flow. The methods below are in this order.
 */
export class SyncReconciler {
  readonly #options: SyncReconcilerOptions;
  readonly #statuses: Readonly<Record<SyncKind, StatusWriter>>;
  readonly #memory = new ResourceMemory();
  readonly #reads = new RevocableReads();

  constructor(options: SyncReconcilerOptions) {
    const { api, kinds, clock, logger } = options;
    this.#options = options;
    this.#statuses = forEachKind((kind) => {
      const { source, statuses = api } = kinds[kind];
      return new StatusWriter(statuses, source.descriptor, clock, logger);
    });
  }

  /**
   * Returns the delay after which to reconcile a resource whose status another process changed; see
   * StatusWriter.
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
    if (object === undefined) return releaseUnselected(this.#options, key, signal);
    if (object.metadata.deletionTimestamp !== undefined) return DONE;
    if (this.#statuses[kind].isOutdated(key, object)) return AWAIT_WATCH;
    const parsed = source.parse(object);
    const { resource } = parsed;
    const before = readStatus(kind, this.#statuses[kind].current(key, object));
    const started = {
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
      ? await this.#sync(started).catch((error: unknown) => deniedResult(error, resource))
      : reported(parsed.readyCondition);
    forgetUnfollowed(started.memory, report);
    if (next.outcome === "done") this.#options.propagations.ended(key, change);
    if (report === undefined) return next;
    const dueInMs = this.#firstTargetDueInMs(started, report);
    await this.#report(started, object, withEcho(report, resource, before), dueInMs === 0);
    this.#options.lists.reported(key);
    return nextWait(next, report, {
      now: this.#options.clock.now(),
      expiries: reportedExpiries(before, report, resource),
      merges: isMerged(resource),
      firstTargetDueInMs: dueInMs,
    });
  }

  /**
   * Returns the time in milliseconds after which a resource without a target is Stalled;
   * `undefined` if it has or had one.
   */
  #firstTargetDueInMs(
    { resource, before, memory }: Started,
    { verified }: Report,
  ): number | undefined {
    const { targets, clock } = this.#options;
    if (hadTarget(before) || verified !== undefined || hasKeys(resource, targets)) {
      memory.firstTarget = undefined;
      return undefined;
    }
    const waitedMs = withoutTargetMs(memory, resource.generation, clock.monotonic());
    return firstTargetDueInMs(before, resource.generation, waitedMs);
  }

  async #sync(started: Started): Promise<SyncResult> {
    const { source, resource, before } = started;
    if (resource.suspend) return reported(SUSPENDED);
    const access = findConnection(this.#options, source.entries, resource, before);
    if ("report" in access) return access;
    return syncForced(this.#options.lists, started, access, async () => {
      const listed = this.#observeList(started, access);
      if ("next" in listed) return listed;
      if (resource.connection.kind === "VaultConnection") return this.#syncTarget(listed);
      return this.#reads.run(resource, started.signal, (reads) =>
        this.#syncTarget({ ...listed, reads }),
      );
    });
  }

  /** Returns the list of the vault, or the result of a reconcile that has to wait for one. */
  #observeList(started: Started, access: OpenConnection): Listed | SyncResult {
    const { source, resource, before, memory } = started;
    const { snapshot, health } = access.connection;
    const { kind } = resource.connection;
    if (snapshot !== undefined && isCovered({ source, resource, snapshot })) {
      const connection = connectionKey(resource.connection, resource.namespace);
      const grant = this.#options.access.of(connection, resource.namespace);
      const now = this.#options.clock.now();
      const freeze = this.#options.freezes.of(resource.namespace, now);
      return { ...started, deadlines: memory.deadlines, access, grant, snapshot, freeze, now };
    }
    if (health.state !== "failing" && access.stale === undefined)
      return { report: undefined, next: waitFor("connection") };
    const why = health.error
      ? explainToUser(health.error, access.facts, kind)
      : "waiting for the first list of the vault";
    return awaitConnection(resource, before, why, access);
  }

  /**
   * Observes, decides and executes. Starts again with another state of the target: once if it was
   * edited, and if an object that no watch shows has its name.
   */
  async #syncTarget(listed: Listed): Promise<SyncResult> {
    const { resource, before, signal } = listed;
    let found = await findTarget(this.#options, resource, before, signal);
    for (let isSecond = false; ;) {
      const observed = await this.#observeTarget(listed, found);
      if ("next" in observed) return observed;
      const planned = await this.#decide(observed);
      if ("next" in planned) return planned;
      if ("edited" in planned) {
        if (isSecond) return targetChanged("the target was changed concurrently");
        isSecond = true;
        found = planned.edited;
        continue;
      }
      const effect = await this.#execute(planned);
      if ("next" in effect) return effect;
      found = effect;
    }
  }

  /** Adds the target, and the items that rules find. A target as a whole becomes a merged one. */
  async #observeTarget(listed: Listed, found: FoundTarget): Promise<Observed | SyncResult> {
    const { source, resource, access, signal } = listed;
    if (found === "deleting") return { report: undefined, next: waitFor("target", TARGET_WAIT_MS) };
    if (found === "whole") {
      await becomeMerged(this.#options, resource, source.descriptor, signal);
      // The watch may lag behind the release, so the state after it is read.
      const now = await lookUpTarget(this.#options, resource, signal);
      if (now === "whole") return targetChanged("the target was changed concurrently");
      return this.#observeTarget(listed, now);
    }
    const formers = () => this.#options.targets.formers(resource);
    const observed = findSources(listed, found, formers);
    return "reason" in observed ? reported(observed, { stale: access.stale }) : observed;
  }

  /**
   * Decides for the target, and reads it if the plan depends on its bytes. A target that was edited
   * is decided for again, without relying on its annotations.
   * @returns the state of the target if it is not the observed one any more
   */
  async #decide(
    observed: Observed,
  ): Promise<Planned | SyncResult | { readonly edited: FoundTarget }> {
    const { resource, access, memory } = observed;
    const isCorrupted = observed.state.state === "owned" && observed.state.annotationsCorrupted;
    const seen = isCorrupted ? { ...observed, state: withReported(observed) } : observed;
    this.#trustStatus(seen);
    let planned = decideBeforeRead(seen, this.#options.targets);
    const wait = this.#options.targets.repairWait(resource, seen.state);
    if (wait !== undefined && planned.decision.plan.action !== "keep") {
      return {
        report: { ...reportUnread(seen), readyCondition: wait.condition },
        next: waitFor("target", wait.ms),
      };
    }
    const current = await this.#options.writer
      .read(planned.decision.plan, seen)
      .catch((error: unknown) => withoutRead(error, seen));
    if ("next" in current) return current;
    if ("now" in current) return { edited: currentState(resource, current.now) };
    if (current.object !== undefined && !current.trusted && !isCorrupted)
      planned = decideFor({ ...seen, state: withReported(seen) });
    memory.deadlines = deadlinesOf(access.id, planned.resolutions);
    return { ...planned, current };
  }

  /** @returns the state of an object that has the name of the target, if it is the target */
  async #execute(planned: Planned): Promise<SyncResult | TargetState> {
    const { key, resource, before, memory, access, resolutions, decision } = planned;
    const { writer, propagations, observer } = this.#options;
    try {
      const { report, next } = await writer.apply(planned);
      if (report.effect !== "none") {
        memory.unreported = withUnreported(report, memory.unreported);
        propagations.written(key);
        observer.written(resource.kind, report.effect);
      }
      const isReplaced =
        report.verified !== undefined || (resolutions.length > 0 && resolutions.every(isDropped));
      const removed = isReplaced
        ? removeFormerTargets(this.#options, planned, report)
        : removeGoneFromFormers(this.#options, planned, report);
      const done = await removed.catch((error: unknown) =>
        deniedResult(error, resource, { ...report, verified: undefined, digest: undefined }),
      );
      if ("report" in done) return done;
      if (showsOutdatedList(done, decision, before)) access.connection.pollSoon();
      const isIdle = next.outcome === "done" && next.wait === undefined;
      return { report: done, next: isIdle ? this.#waitForTarget(planned, done) : next };
    } catch (error) {
      if (isKubeError(error, "AlreadyExists")) return this.#resolveNameConflict(planned);
      if (isKubeError(error, "NamespaceTerminating"))
        return { report: undefined, next: waitFor("namespace") };
      throw error;
    }
  }

  /**
   * Returns the wait for changes of the target that no watch shows. A target without the operator's
   * label is one that could not be written, e.g. because a source is missing.
   */
  #waitForTarget({ resource, state }: Planned, { effect, verified }: Report): ReconcileResult {
    const { targets } = this.#options;
    if (!targets.isWatched(resource)) return waitFor("target");
    const isLeft = state.state === "owned" && effect === "none" && verified === undefined;
    const isHidden = isLeft && !isMerged(resource) && targets.metadata(resource) === undefined;
    return isHidden ? waitFor("target", TARGET_WAIT_MS) : DONE;
  }

  /**
   * The watch shows only objects with the operator's label; an object without it is found when
   * creating the target fails.
   */
  async #resolveNameConflict(planned: Planned): Promise<SyncResult | TargetState> {
    const { resource, report, signal } = planned;
    const state = await lookUpTarget(this.#options, resource, signal);
    if (state === "deleting" || state === "whole" || state.state === "absent")
      return targetChanged("the target was created concurrently");
    if (state.state === "owned") return state;
    const { resolutions, connection, stale } = report;
    return reported(targetConflict(resource, state), { resolutions, connection, stale });
  }

  /** Trusts a target that has not changed since the status: a start need not read it. */
  #trustStatus({ resource, before, state }: Observed): void {
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
  async #report(
    { key, resource, before, memory, signal }: Started,
    object: KubeObject,
    now: Report,
    isOverdue: boolean,
  ): Promise<void> {
    const { events, clock, logger, provesUse } = this.#options;
    const report = withUnreported(now, memory.unreported);
    const shows = { isOverdue, provesUse: provesUse && !fansOut(resource.kind) };
    const isOfOthers = isShared(resource, memory);
    const input = { ...report, ...shows, isOfOthers, resource, now: clock.now() };
    const status = nextStatus(before, input);
    await this.#statuses[resource.kind].write(key, object, status, signal);
    memory.unreported = undefined;
    memory.hasOwnItems ||= report.resolutions !== undefined;
    recordEvents(events, object, resource, report, { before, now: status });
    if (report.effect === "none") return;
    const { kind, name } = resource.target;
    logger.info(
      { controller: resource.kind, key, action: report.effect, target: `${kind}/${name}` },
      `target ${report.effect}`,
    );
  }
}

/**
 * Reports whether the vault, for the first time, lacked an entry or version that its list shows.
 */
function showsOutdatedList(
  { readyCondition }: Report,
  decision: Decision,
  before: SyncStatus,
): boolean {
  if (readyCondition === undefined || readyCondition === decision.readyCondition) return false;
  const isLacking =
    readyCondition.reason === "SourceMissing" || readyCondition.reason === "VersionNotFound";
  return isLacking && findCondition(before.conditions, "Ready")?.reason !== readyCondition.reason;
}
