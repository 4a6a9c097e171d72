import { ACCEPT_ANNOTATION } from "../../api/names.ts";
import { findCondition } from "../../api/conditions.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { ReconcileResult } from "../../runtime/controller.ts";
import { decide, targetConflict } from "../../sync/decide.ts";
import { type Candidate, type Remembered, type Resolution, resolveItem } from "../../sync/resolve.ts";
import type { SyncItem, SyncResource } from "../../sync/sync-resource.ts";
import {
  EXPIRY_NOTICE_MS,
  nextStatus,
  readStatus,
  type StatusInput,
  statusOf,
  type SyncStatus,
  wasReady,
} from "../../sync/sync-status.ts";
import { isOwnedBy, sourceId, type TargetState, targetState } from "../../sync/target.ts";
import { notReady, type ReadyCondition } from "../../sync/ready-condition.ts";
import type { Snapshot } from "../../vault-client/connection.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import type { ConnectionAccess, ConnectionDirectory } from "./connection-directory.ts";
import { recordEvents } from "./record-events.ts";
import { type Outcome, unchangedOutcome, mergeUnreported } from "./outcome.ts";
import { WATCH_LAG_MS } from "../status/own-writes.ts";
import { StatusWriter } from "../status/status-writer.ts";
import { RetryLaterError } from "./sync-failure.ts";
import type { SourceKind } from "./source-kind.ts";
import { targetDescriptor } from "./target-metadata.ts";
import type { TargetView } from "./target-view.ts";
import type { TargetWriter } from "./target-writer.ts";

export interface SyncReconcilerOptions<C extends Candidate> {
  readonly kind: SourceKind<C>;
  readonly resources: ReadonlyStore<KubeObject>;
  readonly connections: ConnectionDirectory;
  readonly targets: TargetView;
  readonly writer: TargetWriter<C>;
  readonly api: KubeApi;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One attempt's findings, before they become a status. */
interface Findings<C extends Candidate> {
  readonly outcome: Outcome;
  readonly resolutions: readonly Resolution<C>[] | undefined;
  readonly staleSince: number | undefined;
}

const statusOnly = (readyCondition: ReadyCondition | undefined): Findings<never> => ({
  outcome: unchangedOutcome(readyCondition, new Map()),
  resolutions: undefined,
  staleSince: undefined,
});

/**
 * Level-triggered reconcile of VaultSecrets and VaultFiles: from a key, through what is known (own store, mirror of the vault, target's
 * metadata), a pure decision, and the writes it asks for, to a status that is written only when it says something new.
 * Source: design, "How the operator works", point 3.
 */
export class SyncReconciler<C extends Candidate> {
  readonly #options: SyncReconcilerOptions<C>;
  readonly #statuses: StatusWriter;
  /** Deadlines of sources by resource and key, for the items that a status has no room for. */
  readonly #deadlines = new Map<string, Map<string, number>>();
  /** What was done to targets and is in no status yet, because writing that failed. */
  readonly #unreported = new Map<string, Outcome>();

  constructor(options: SyncReconcilerOptions<C>) {
    this.#options = options;
    this.#statuses = new StatusWriter(options.api, options.kind.descriptor, options.clock);
  }

  /** The resource is gone: what was remembered of it goes too. Its target is garbage-collected by the API server. */
  forget(key: string): void {
    this.#statuses.forget(key);
    this.#deadlines.delete(key);
    this.#unreported.delete(key);
  }

  /** @throws when the attempt is to be made again */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { resources, kind, clock } = this.#options;
    const object = resources.get(key);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return {};
    const parsed = kind.parse(object);
    const before = readStatus(parsed.resource.kind, this.#statuses.current(key, object));
    const findings = parsed.ok ? await this.#sync(key, parsed.resource, before, signal) : statusOnly(parsed.readyCondition);
    if (findings === undefined) return {};
    const { resolutions, staleSince } = findings;
    const outcome = mergeUnreported(findings.outcome, this.#unreported.get(key));
    const { readyCondition, busy, versions, changed } = outcome;
    const now = clock.now();
    const report: StatusInput = {
      resource: parsed.resource,
      readyCondition,
      busy,
      staleSince,
      resolutions,
      versions,
      changed,
      now,
    };
    await this.#statuses.write(key, object, nextStatus(before, report), signal);
    this.#unreported.delete(key);
    recordEvents(this.#options.events, object, before, outcome);
    if (outcome.effect !== "none") {
      const { kind: targetKind, name } = parsed.resource.target;
      const fields = { controller: object.kind, key, action: outcome.effect, target: `${targetKind}/${name}` };
      this.#options.logger.info(fields, "target written");
    }
    if (outcome.retry) throw new RetryLaterError(busy?.reason ?? "failed", outcome.requeueAfterMs);
    return { requeueAfterMs: this.#nextRequeue(outcome, resolutions ?? [], now) };
  }

  async #sync(key: string, resource: SyncResource, before: SyncStatus, signal: AbortSignal): Promise<Findings<C> | undefined> {
    if (resource.suspend) return statusOnly(notReady("Suspended", "spec.suspend is true: the target is left unchanged"));
    const access = this.#options.connections.get(`${resource.namespace}/${resource.connection}`);
    if (access === undefined) {
      const message = `VaultConnection ${resource.connection} not found in namespace ${resource.namespace}: create it, or correct spec.connectionRef.name`;
      return statusOnly(notReady("ConnectionNotFound", message));
    }
    if (access === "opening") return undefined;
    if ("notReady" in access) return statusOnly(this.#connectionNotReady(resource, before, access.notReady));
    const snapshot = access.connection.snapshot;
    if (snapshot === undefined || !this.#options.kind.covers(snapshot)) return this.#awaitSnapshot(resource, before, access);
    return this.#syncFromSnapshot(key, resource, before, access, snapshot, signal);
  }

  /** Nothing is known of the vault yet. A target that was in step stays Ready; the connection's first list brings us back here. */
  #awaitSnapshot(resource: SyncResource, before: SyncStatus, access: ConnectionAccess): Findings<never> | undefined {
    const { state, error } = access.connection.health;
    if (state !== "failing" && access.staleSince === undefined) return undefined;
    const why = error === undefined ? "waiting for the first list of the vault" : error.message;
    return { ...statusOnly(this.#connectionNotReady(resource, before, why)), staleSince: access.staleSince };
  }

  #connectionNotReady(resource: SyncResource, before: SyncStatus, why: string): ReadyCondition | undefined {
    if (wasReady(before, resource.generation)) return undefined;
    return notReady("ConnectionNotReady", `VaultConnection ${resource.connection} is not ready: ${why}`);
  }

  async #syncFromSnapshot(
    key: string,
    resource: SyncResource,
    before: SyncStatus,
    access: ConnectionAccess,
    snapshot: Snapshot,
    signal: AbortSignal,
  ): Promise<Findings<C> | undefined> {
    const { kind, writer } = this.#options;
    const state = await this.#targetState(resource, before, signal);
    if (state === "deleting") return undefined;
    const resolutions = this.#resolve(key, resource, before, access, snapshot, state);
    const decision = decide(resource, resolutions, state);
    const { connection, staleSince } = access;
    const fetch = async ({ candidate, version }: { candidate: C; version: number }) => {
      try {
        return await kind.fetch(connection, candidate, version, signal);
      } catch (error) {
        // The list names what the vault then does not have: it is out of date.
        if (isVaultError(error) && error.kind === "permanent" && error.code.endsWith("not_found")) connection.pollSoon();
        throw error;
      }
    };
    try {
      const outcome = await writer.apply(resource, decision, state, fetch, signal);
      if (outcome.effect !== "none") this.#unreported.set(key, outcome);
      if (outcome.readyCondition?.ready === true) await this.#removeFormer(resource, before, signal);
      return { outcome, resolutions, staleSince };
    } catch (error) {
      if (isKubeError(error, "AlreadyExists")) return this.#resolveNameConflict(resource, resolutions, staleSince, signal);
      if (isKubeError(error, "NamespaceTerminating", "NotLeader")) return undefined;
      throw error;
    }
  }

  /** The watch shows only objects with our label, so one of somebody else's is met when its name turns out to be taken. */
  async #resolveNameConflict(
    resource: SyncResource,
    resolutions: readonly Resolution<C>[],
    staleSince: number | undefined,
    signal: AbortSignal,
  ): Promise<Findings<C>> {
    const state = await this.#lookUp(resource, signal);
    const taken = state !== "deleting" && state.state === "foreign";
    if (!taken) throw new RetryLaterError("the target was created concurrently");
    return { outcome: unchangedOutcome(targetConflict(resource, state.owner), new Map()), resolutions, staleSince };
  }

  /** The spec names another target than the one that was in step last: the old one, if it is ours, has nobody to keep it in step. */
  async #removeFormer(resource: SyncResource, { target }: SyncStatus, signal: AbortSignal): Promise<void> {
    const kind = target?.kind;
    if (target === undefined || (kind !== "Secret" && kind !== "ConfigMap")) return;
    if (kind === resource.target.kind && target.name === resource.target.name) return;
    const former: SyncResource = { ...resource, target: { kind, name: target.name, type: undefined } };
    const metadata = this.#options.targets.metadata(former);
    if (metadata !== undefined && isOwnedBy(resource, metadata)) await this.#options.writer.remove(former, metadata, signal);
  }

  async #targetState(resource: SyncResource, before: SyncStatus, signal: AbortSignal): Promise<TargetState | "deleting"> {
    const watched = this.#options.targets.metadata(resource);
    const wasTaken = findCondition(before.conditions, "Ready")?.reason === "TargetConflict";
    if (watched === undefined && wasTaken) return this.#lookUp(resource, signal);
    if (watched?.deleting === true && isOwnedBy(resource, watched)) return "deleting";
    return targetState(resource, watched);
  }

  async #lookUp(resource: SyncResource, signal: AbortSignal): Promise<TargetState | "deleting"> {
    const { api, targets } = this.#options;
    const { kind, name } = resource.target;
    try {
      const object = await api.getMetadata(targetDescriptor[kind], { namespace: resource.namespace, name }, signal);
      targets.saw(resource, object);
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
      targets.missed(resource);
    }
    const seen = targets.metadata(resource);
    return seen?.deleting === true ? "deleting" : targetState(resource, seen);
  }

  #resolve(
    key: string,
    resource: SyncResource,
    before: SyncStatus,
    { account }: ConnectionAccess,
    snapshot: Snapshot,
    state: TargetState,
  ): Resolution<C>[] {
    const { kind, clock } = this.#options;
    const deadlines = this.#deadlines.get(key);
    const resolutions = resource.items.map((item) => {
      const synced = state.state === "owned" ? state.synced.get(item.targetKey) : undefined;
      const earlier = statusOf(before, item);
      const isOthers = item.owner !== undefined && synced?.source !== sourceId(item.source, item.owner);
      const deleteAt = deadlines === undefined ? earlier?.deleteAt : deadlines.get(deadlineKey(item));
      const remembered: Remembered = { synced, sameName: earlier !== undefined, deleteAt: isOthers ? undefined : deleteAt };
      return resolveItem(resource, item, kind.candidates(snapshot, item, account), remembered, clock.now());
    });
    this.#deadlines.set(key, new Map(resolutions.flatMap((resolution) => knownDeadline(resolution))));
    return resolutions;
  }

  /** When this resource is due without anybody's doing: its own retry, a deadline, or to see that a write arrived in the watch. */
  #nextRequeue(outcome: Outcome, resolutions: readonly Resolution[], now: number): number | undefined {
    const moments = resolutions.flatMap((resolution) => {
      if (resolution.state === "missing" && resolution.deleteAt !== undefined) return [resolution.deleteAt - now];
      if (resolution.state === "found" && resolution.candidate.expiresAt !== undefined) {
        return [resolution.candidate.expiresAt - EXPIRY_NOTICE_MS - now];
      }
      return [];
    });
    if (outcome.requeueAfterMs !== undefined) moments.push(outcome.requeueAfterMs);
    if (outcome.readyCondition?.reason === "TargetConflict") moments.push(CONFLICT_RETRY_MS);
    if (outcome.effect !== "none") moments.push(WATCH_LAG_MS + 1_000);
    const due = moments.filter((ms) => ms > 0);
    return due.length === 0 ? undefined : Math.min(...due);
  }
}

/** A name taken by an object we don't watch is looked at this seldom, in milliseconds. */
const CONFLICT_RETRY_MS = 30_000;

const deadlineKey = ({ targetKey, source, owner = "" }: SyncItem): string => `${targetKey}\n${source}\n${owner}`;

function knownDeadline(resolution: Resolution): [string, number][] {
  const deleteAt =
    "deleteAt" in resolution ? resolution.deleteAt : "candidate" in resolution ? resolution.candidate.deleteAt : undefined;
  return deleteAt === undefined ? [] : [[deadlineKey(resolution.item), deleteAt]];
}

/** Whether two states of a resource differ in anything but what the operator writes itself. */
export function desiredStateChanged(before: KubeObject, now: KubeObject): boolean {
  return (
    before.metadata.uid !== now.metadata.uid ||
    before.metadata.generation !== now.metadata.generation ||
    before.metadata.annotations?.[ACCEPT_ANNOTATION] !== now.metadata.annotations?.[ACCEPT_ANNOTATION]
  );
}
