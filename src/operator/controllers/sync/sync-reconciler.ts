import { findCondition } from "../../api/conditions.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { EventRecorder } from "../../kube/event-recorder.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { ReconcileResult } from "../../runtime/controller.ts";
import { decide, type Fetch, targetConflict } from "../../sync/decide.ts";
import { type Candidate, type Remembered, type Resolution, resolveItem } from "../../sync/resolve.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import { nextStatus, readStatus, type StatusInput, earlierItem, type SyncStatus, wasReady } from "../../sync/sync-status.ts";
import { isOwnedBy, sourceId, type TargetState, targetState, withoutClaims } from "../../sync/target.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { Snapshot } from "../../vault-client/connection.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import type { ConnectionRegistry, OpenConnection } from "../connection/connection-registry.ts";
import { nextRequeue } from "./next-requeue.ts";
import { recordEvents } from "./record-events.ts";
import { mergeUnreported, type Outcome, unchangedOutcome } from "./outcome.ts";
import { StatusWriter } from "../status/status-writer.ts";
import { RetryLaterError } from "./sync-failure.ts";
import type { FetchedBytes, SourceKind } from "./source-kind.ts";
import { targetDescriptor } from "./target-metadata.ts";
import type { TargetView } from "./target-view.ts";
import { type TargetWriter, UntrustedTargetError } from "./target-writer.ts";

export interface SyncReconcilerOptions<C extends Candidate> {
  readonly kind: SourceKind<C>;
  readonly resources: ReadonlyStore<KubeObject>;
  readonly connections: Pick<ConnectionRegistry, "get">;
  readonly targets: TargetView;
  readonly writer: TargetWriter<C>;
  readonly api: KubeApi;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Input of one reconcile. */
interface SyncContext {
  readonly key: string;
  readonly resource: SyncResource;
  readonly before: SyncStatus;
  readonly signal: AbortSignal;
}

/** Result of one reconcile, from which the status is computed. */
interface SyncResult {
  readonly outcome: Outcome;
  readonly resolutions: readonly Resolution[] | undefined;
  /** The connection that the resolutions are from. */
  readonly connection: string | undefined;
  readonly staleSince: number | undefined;
}

const statusOnly = (readyCondition: ReadyCondition | undefined): SyncResult => ({
  outcome: unchangedOutcome(readyCondition, new Map()),
  resolutions: undefined,
  connection: undefined,
  staleSince: undefined,
});

/**
 * Reconciles VaultSecrets and VaultFiles, level-triggered: gathers what is known (the own store, the mirror of the vault, the
 * metadata of the target), decides without I/O, applies the plan, and writes the status if it changed; see
 * docs/design/engine.md#data-flow.
 */
export class SyncReconciler<C extends Candidate> {
  readonly #options: SyncReconcilerOptions<C>;
  readonly #statuses: StatusWriter;
  /** Deadlines of sources by resource and item, and the connection that listed them; a status lists a limited number of items. */
  readonly #deadlines = new Map<string, { readonly connection: string; readonly byItem: ReadonlyMap<string, number> }>();
  /** Outcomes by resource that are in no status yet, because writing it failed. */
  readonly #unreported = new Map<string, Outcome>();

  constructor(options: SyncReconcilerOptions<C>) {
    this.#options = options;
    this.#statuses = new StatusWriter(options.api, options.kind.descriptor, options.clock);
  }

  /** Drops all state of a deleted resource. The API server garbage-collects its target. */
  forget(key: string): void {
    this.#statuses.forget(key);
    this.#deadlines.delete(key);
    this.#unreported.delete(key);
  }

  /** @throws when the reconcile is to be retried */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { resources, kind, clock, events } = this.#options;
    const object = resources.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return {};
    const parsed = kind.parse(object);
    const { resource } = parsed;
    const before = readStatus(resource.kind, this.#statuses.current(key, object));
    const result = parsed.ok ? await this.#sync({ key, resource, before, signal }) : statusOnly(parsed.readyCondition);
    if (result === undefined) return {};
    const { resolutions, connection, staleSince } = result;
    const outcome = mergeUnreported(result.outcome, this.#unreported.get(key));
    const { readyCondition, reconciling, versions, changed } = outcome;
    const now = clock.now();
    const facts = { readyCondition, reconciling, versions, changed };
    const input: StatusInput = { ...facts, resource, staleSince, resolutions, connection, now };
    await this.#statuses.write(key, object, nextStatus(before, input), signal);
    this.#unreported.delete(key);
    recordEvents(events, object, before, outcome);
    if (outcome.effect !== "none") this.#logWrite(key, resource, outcome);
    if (outcome.retry) throw new RetryLaterError(reconciling?.reason ?? "failed", outcome.requeueAfterMs);
    return { requeueAfterMs: nextRequeue(outcome, resolutions ?? [], now) };
  }

  #logWrite(key: string, { kind, target }: SyncResource, { effect }: Outcome): void {
    const fields = { controller: kind, key, action: effect, target: `${target.kind}/${target.name}` };
    this.#options.logger.info(fields, "target written");
  }

  /** Returns `undefined` when nothing can be reported yet: another change will requeue the resource. */
  async #sync(context: SyncContext): Promise<SyncResult | undefined> {
    const { resource, before } = context;
    if (resource.suspend) return statusOnly(notReady("Suspended", "spec.suspend is true: the target is left unchanged"));
    const access = this.#options.connections.get(`${resource.namespace}/${resource.connection}`);
    if (access.state === "absent") {
      const message = `VaultConnection ${resource.connection} not found in namespace ${resource.namespace}: create it, or correct spec.connectionRef.name`;
      return statusOnly(notReady("ConnectionNotFound", message));
    }
    if (access.state === "opening") return undefined;
    if (access.state === "invalid") return statusOnly(this.#connectionNotReady(resource, before, access.message));
    const snapshot = access.connection.snapshot;
    if (snapshot === undefined || !this.#options.kind.covers(snapshot)) return this.#awaitSnapshot(resource, before, access);
    return this.#syncFromSnapshot(context, access, snapshot);
  }

  /**
   * The vault was not listed yet. A target that was in sync stays Ready; the first list of the connection requeues the resource.
   */
  #awaitSnapshot(resource: SyncResource, before: SyncStatus, access: OpenConnection): SyncResult | undefined {
    const { state, error } = access.connection.health;
    if (state !== "failing" && access.staleSince === undefined) return undefined;
    const why = error === undefined ? "waiting for the first list of the vault" : error.message;
    return { ...statusOnly(this.#connectionNotReady(resource, before, why)), staleSince: access.staleSince };
  }

  #connectionNotReady(resource: SyncResource, before: SyncStatus, why: string): ReadyCondition | undefined {
    if (wasReady(before, resource.generation)) return undefined;
    return notReady("ConnectionNotReady", `VaultConnection ${resource.connection} is not ready: ${why}`);
  }

  async #syncFromSnapshot(context: SyncContext, access: OpenConnection, snapshot: Snapshot): Promise<SyncResult | undefined> {
    const state = await this.#targetState(context);
    if (state === "deleting") return undefined;
    const corrupted = state.state === "owned" && state.annotationsCorrupted;
    try {
      return await this.#decideAndApply(context, access, snapshot, corrupted ? withReported(context, state) : state);
    } catch (error) {
      if (!(error instanceof UntrustedTargetError)) throw error;
      return this.#decideAndApply(context, access, snapshot, withReported(context, state));
    }
  }

  async #decideAndApply(
    context: SyncContext,
    access: OpenConnection,
    snapshot: Snapshot,
    state: TargetState,
  ): Promise<SyncResult | undefined> {
    const { key, resource, signal } = context;
    const { connection, staleSince } = access;
    const resolutions = this.#resolve(context, access, snapshot, state);
    const { plan, readyCondition } = decide(resource, resolutions, state);
    const fetchBytes = async ({ candidate, version }: Fetch<C>): Promise<FetchedBytes> => {
      try {
        return await this.#options.kind.fetch(connection, candidate, version, signal);
      } catch (error) {
        // The vault lists an entry that it does not have: the list is out of date.
        if (isVaultError(error) && error.kind === "permanent" && error.code.endsWith("not_found")) connection.pollSoon();
        throw error;
      }
    };
    try {
      const outcome = await this.#options.writer.apply(plan, { resource, state, readyCondition, fetchBytes, signal });
      if (outcome.effect !== "none") this.#unreported.set(key, outcome);
      if (outcome.readyCondition?.ready === true) await this.#removeFormerTarget(context);
      return { outcome, resolutions, connection: access.id, staleSince };
    } catch (error) {
      if (isKubeError(error, "AlreadyExists")) {
        const conflict = await this.#resolveNameConflict(resource, signal);
        return { outcome: unchangedOutcome(conflict, new Map()), resolutions, connection: access.id, staleSince };
      }
      if (isKubeError(error, "NamespaceTerminating", "NotLeader")) return undefined;
      throw error;
    }
  }

  /** The watch shows only objects with the operator's label; an object without it is found when creating the target fails. */
  async #resolveNameConflict(resource: SyncResource, signal: AbortSignal): Promise<ReadyCondition> {
    const state = await this.#lookUpTarget(resource, signal);
    if (state === "deleting" || state.state !== "foreign") throw new RetryLaterError("the target was created concurrently");
    return targetConflict(resource, state.owner);
  }

  /** Removes the target that was in sync last, if the spec now names another one and the old one belongs to this resource. */
  async #removeFormerTarget({ resource, before: { target }, signal }: SyncContext): Promise<void> {
    const kind = target?.kind;
    if (target === undefined || (kind !== "Secret" && kind !== "ConfigMap")) return;
    if (kind === resource.target.kind && target.name === resource.target.name) return;
    const former: SyncResource = { ...resource, target: { kind, name: target.name, type: undefined } };
    const metadata = this.#options.targets.metadata(former);
    if (metadata !== undefined && isOwnedBy(resource, metadata)) await this.#options.writer.remove(former, metadata, signal);
  }

  async #targetState({ resource, before, signal }: SyncContext): Promise<TargetState | "deleting"> {
    const watched = this.#options.targets.metadata(resource);
    const hadConflict = findCondition(before.conditions, "Ready")?.reason === "TargetConflict";
    if (watched === undefined && hadConflict) return this.#lookUpTarget(resource, signal);
    if (watched?.deleting === true && isOwnedBy(resource, watched)) return "deleting";
    return targetState(resource, watched);
  }

  /** Reads the target from the API server instead of the watch. */
  async #lookUpTarget(resource: SyncResource, signal: AbortSignal): Promise<TargetState | "deleting"> {
    const { api, targets } = this.#options;
    const { kind, name } = resource.target;
    try {
      const object = await api.getMetadata(targetDescriptor[kind], { namespace: resource.namespace, name }, signal);
      targets.recordRead(resource, object);
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      targets.recordAbsence(resource);
    }
    const metadata = targets.metadata(resource);
    return metadata?.deleting === true ? "deleting" : targetState(resource, metadata);
  }

  #resolve(
    { key, resource, before }: SyncContext,
    access: OpenConnection,
    snapshot: Snapshot,
    state: TargetState,
  ): Resolution<C>[] {
    const { kind, clock } = this.#options;
    const known = this.#deadlines.get(key);
    const isFollowed = before.connection === access.id && findCondition(before.conditions, "Ready")?.reason !== "Suspended";
    const resolutions = resource.items.map((item) => {
      const synced = state.state === "owned" ? state.synced.get(item.targetKey) : undefined;
      const earlier = earlierItem(before, item);
      const otherOwner = item.owner !== undefined && synced?.source !== sourceId(access.vault, item.source, item.owner);
      const reported = isFollowed ? earlier?.deleteAt : undefined;
      const listed = known?.connection === access.id ? known.byItem.get(deadlineKey(item)) : undefined;
      const deleteAt = otherOwner ? undefined : known === undefined ? reported : listed;
      const missingSince = snapshot.missingSince(item.source, item.owner);
      const remembered: Remembered = { synced, sameName: earlier !== undefined, deleteAt, missingSince };
      return resolveItem(resource, item, kind.candidates(snapshot, item, access), remembered, clock.now());
    });
    const byItem = new Map(resolutions.flatMap((resolution) => knownDeadline(resolution)));
    this.#deadlines.set(key, { connection: access.id, byItem });
    return resolutions;
  }
}

/** Returns the state of an edited target with the versions that the last status reported instead of those it claims. */
function withReported({ resource, before }: SyncContext, state: TargetState): TargetState {
  const items = new Map(resource.items.map((item) => [item.targetKey, item]));
  return withoutClaims(state, (targetKey) => {
    const item = items.get(targetKey);
    return item && earlierItem(before, item)?.version;
  });
}

const deadlineKey = ({ targetKey, source, owner = "" }: SyncItem): string => `${targetKey}\n${source}\n${owner}`;

function knownDeadline(resolution: Resolution): [string, number][] {
  const deleteAt =
    "deleteAt" in resolution ? resolution.deleteAt : "candidate" in resolution ? resolution.candidate.deleteAt : undefined;
  return deleteAt === undefined ? [] : [[deadlineKey(resolution.item), deleteAt]];
}
