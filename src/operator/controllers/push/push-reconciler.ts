import type { ReconcilerParts } from "../outcome/parts.ts";
import { connectionKey } from "../../api/connection-key.ts";
import { vaultPushKind } from "../../api/kinds.ts";
import type { PushStatus } from "../../api/vault-push.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { GONE, type ReconcileResult } from "../../runtime/controller.ts";
import type { QueueLimits } from "../../runtime/queue-limits.ts";
import { notReady } from "../../sync/ready-condition.ts";
import type { Snapshot } from "../../vault-client/connection.ts";
import { explainFailure } from "../../connection/connection-problem.ts";
import type { ConnectionRegistry } from "../connection/connection-registry.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import { FRESH_LIST_MS, type FreshLists } from "../outcome/fresh-lists.ts";
import { StatusWriter } from "../outcome/status-writer.ts";
import {
  AWAIT_WATCH,
  DONE,
  waitFor,
  withListFailure,
  type WriteObserver,
} from "../outcome/outcome.ts";
import { hasFinalizer, setFinalizer, type PushRemoval } from "./push-removal.ts";
import type { ItemPusherOptions, PushContext } from "./push-attempt.ts";
import { type PushOutcome, summarize } from "./push-outcome.ts";
import { ItemPusher } from "./push-item.ts";
import { followEntries, shownRecords } from "./follow-entries.ts";
import { followVault, forgetOthers, newMemory, type PushMemory } from "./push-memory.ts";
import {
  kindsOf,
  type ParsedPush,
  parsePush,
  type PushResource,
} from "../../push/push-resource.ts";
import type { PushRivals } from "./push-rivals.ts";
import { PushSource, SourceChangedError } from "./push-source.ts";
import { nextPushStatus, type PushReport, readPushStatus } from "../../push/push-status.ts";
import { recordPushEvents } from "./record-push-events.ts";

export interface PushReconcilerOptions extends ItemPusherOptions, ReconcilerParts {
  readonly resources: ReadonlyStore<KubeObject>;
  readonly connections: Pick<ConnectionRegistry, "get">;
  readonly rivals: PushRivals;
  readonly lists: FreshLists;
  readonly removal: PushRemoval;
  /** Knows which reconciles wait for a vault. */
  readonly limits: Pick<QueueLimits, "wait">;
  readonly observer: WriteObserver;
}

/** Input of a reconcile: the object, and the facts that the reconcile before left. */
interface Started {
  readonly key: string;
  readonly object: KubeObject;
  readonly parsed: ParsedPush;
  readonly before: PushStatus;
  readonly memory: PushMemory;
  readonly signal: AbortSignal;
}

/** Facts that decide about a push, except for the Secret. */
interface Observed extends Started {
  readonly resource: PushResource;
  readonly access: OpenConnection;
  readonly snapshot: Snapshot;
  /** Value of the annotation, if this is a forced sync. */
  readonly forced: string | undefined;
  /** The failure of the list that the forced sync requested. */
  readonly list: Error | undefined;
}

/** Result of one reconcile. `undefined` reports nothing. */
interface Result {
  readonly report: PushReport | undefined;
  readonly outcomes?: readonly PushOutcome[];
  readonly next: ReconcileResult;
}

const WAITING = "waiting for a list of the vault";
const nothing = (next: ReconcileResult): Result => ({ report: undefined, next });

/**
 * Reconciles VaultPushes, level-triggered: observes the resource, the list and the Secret, decides
 * for each key whether the vault has its bytes, writes the entries that differ, and reports; see
 * docs/design/engine.md#pushes. The methods below are in this order.
 */
export class PushReconciler {
  readonly #options: PushReconcilerOptions;
  readonly #statuses: StatusWriter;
  readonly #pusher: ItemPusher;
  readonly #memory = new Map<string, PushMemory>();

  constructor(options: PushReconcilerOptions) {
    this.#options = options;
    this.#statuses = new StatusWriter(options.api, vaultPushKind, options.clock, options.logger);
    this.#pusher = new ItemPusher(options);
  }

  /**
   * Returns the delay after which to reconcile a resource whose status another process changed; see
   * StatusWriter.
   */
  statusRepairDelay(key: string, before: KubeObject, now: KubeObject): number | undefined {
    return this.#statuses.repairDelay(key, before, now);
  }

  /** Drops all state of a deleted resource. */
  forget(key: string): void {
    this.#statuses.forget(key);
    this.#memory.delete(key);
    this.#options.lists.forget(key);
  }

  /** @throws when the reconcile is to be retried */
  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const object = this.#options.resources.get(key);
    if (object === undefined) return GONE;
    if (this.#statuses.isOutdated(key, object)) return AWAIT_WATCH;
    const before = readPushStatus(this.#statuses.current(key, object));
    const started: Started = {
      key,
      object,
      parsed: parsePush(object),
      before,
      memory: this.#memoryOf(key, object, before),
      signal,
    };
    const { report, outcomes = [], next } = await this.#sync(started);
    const { memory, parsed } = started;
    const { unreported } = memory;
    unreported.push(...outcomes.filter(({ effect }) => effect !== undefined));
    if (report === undefined) return next;
    // What was never tried is about no vault.
    const isKnown = parsed.ok && (outcomes.length > 0 || before.items !== undefined);
    const pushed = isKnown ? shownRecords(memory, parsed.resource.items) : undefined;
    const status = nextPushStatus(
      before,
      { ...report, pushed },
      object.metadata.generation ?? 0,
      this.#options.clock.now(),
    );
    await this.#statuses.write(key, object, status, signal);
    this.#options.lists.reported(key);
    const { events } = this.#options;
    const { readyCondition } = report;
    recordPushEvents(events, object, before, status, unreported.splice(0));
    if (next.outcome === "retry" || readyCondition === undefined) return next;
    return { ...next, notReady: !readyCondition.ready && readyCondition.reason !== "Suspended" };
  }

  async #sync(started: Started): Promise<Result> {
    const resource = await this.#observeResource(started);
    if ("next" in resource) return resource;
    const observed = this.#observeList(started, resource);
    if ("next" in observed) return observed;
    const result = await this.#push(observed);
    const { list, access } = observed;
    const { report } = result;
    if (list === undefined || report === undefined) return result;
    const { kind } = resource.connection;
    return { ...result, report: withListFailure(report, list, access.facts, kind) };
  }

  /** Returns the resource to push, or the result of a reconcile that pushes nothing. */
  async #observeResource(started: Started): Promise<PushResource | Result> {
    const { object, parsed, memory, signal } = started;
    const { api, connections, limits, removal } = this.#options;
    if (object.metadata.deletionTimestamp !== undefined) {
      if (!hasFinalizer(object)) return nothing(DONE);
      return parsed.ok
        ? limits.wait(() => removal.run(started, parsed))
        : removal.run(started, parsed);
    }
    if (!parsed.ok) return { report: { readyCondition: parsed.readyCondition }, next: DONE };
    const { resource } = parsed;
    forgetOthers(memory, resource.items);
    const isWanted = resource.deletionPolicy === "Delete";
    if (isWanted !== hasFinalizer(object)) {
      // Before the first push: a deletion must leave no entry. The change of the object requeues
      // the resource.
      await setFinalizer(api, object, isWanted, signal);
      return nothing(DONE);
    }
    if (!resource.suspend) return resource;
    const access = connections.get(connectionKey(resource.connection, resource.namespace));
    if (access.state === "open") followEntries(memory, resource.items, access);
    const readyCondition = notReady("Suspended", "spec.suspend is true: nothing is pushed");
    return { report: { readyCondition }, next: DONE };
  }

  /** Returns the connection of the resource, or the result of a reconcile that has none. */
  #observeConnection(
    started: Started,
    { connection, namespace }: PushResource,
  ): OpenConnection | Result {
    const access = this.#options.connections.get(connectionKey(connection, namespace));
    switch (access.state) {
      case "open":
        return access;
      case "opening":
        return nothing(waitFor("connection"));
      case "invalid":
        return this.#awaitConnection(started, access.message, { stale: access.stale });
      case "absent": {
        const { kind, name } = connection;
        const message = `${kind} ${name} not found: create it, or correct spec.connectionRef`;
        const readyCondition = notReady("ConnectionNotFound", message);
        return { report: { readyCondition }, next: waitFor("connection") };
      }
    }
  }

  /**
   * Adds a list of the vault that covers all names (a separate list for a forced sync), or returns
   * the result of a reconcile that has to wait for it.
   */
  #observeList(started: Started, resource: PushResource): Observed | Result {
    const access = this.#observeConnection(started, resource);
    if ("next" in access) return access;
    const { key, memory, before } = started;
    const { lists } = this.#options;
    const forced = resource.forceSync === before.lastForceSync ? undefined : resource.forceSync;
    const { connection, stale } = access;
    const { snapshot, health } = connection;
    const isCovered = resource.items.every(({ kind, name }) => snapshot?.covers(kind, name));
    if (snapshot === undefined || !isCovered || stale !== undefined) {
      if (health.state !== "failing" && stale === undefined) return nothing(waitFor("connection"));
      const why = health.error ? explainFailure(health.error, access.facts) : WAITING;
      return this.#awaitConnection(started, why, { stale, forced }, access.vault);
    }
    followVault(memory, access.vault);
    followEntries(memory, resource.items, access);
    const list =
      forced === undefined
        ? lists.failure(key, connection)
        : lists.request(key, `forced ${forced}`, connection, kindsOf(resource.items));
    if (list === "requested") return nothing(waitFor("connection", FRESH_LIST_MS));
    return {
      ...started,
      resource,
      access,
      snapshot,
      forced,
      list: list === "listed" ? undefined : list,
    };
  }

  /**
   * Waits for a connection that cannot be used. What was pushed stays Ready, because no difference
   * is known, unless a user requests a sync now or the connection leads to another vault.
   */
  #awaitConnection(
    { before, object }: Started,
    why: string,
    facts: Pick<PushReport, "stale" | "forced">,
    vault = before.vault,
  ): Result {
    const ready = before.conditions?.find(({ type }) => type === "Ready");
    const wasReady =
      ready?.status === "True" &&
      ready.observedGeneration === object.metadata.generation &&
      before.vault === vault;
    const message = `the connection is not ready: ${why}`;
    const reconciling = { reason: "ConnectionNotReady", message } as const;
    const readyCondition =
      wasReady && facts.forced === undefined ? undefined : notReady("ConnectionNotReady", message);
    return {
      report: { readyCondition, reconciling, ...facts },
      next: waitFor("connection", 60_000),
    };
  }

  /** Reads the Secret, and decides and executes for each key. */
  async #push(observed: Observed): Promise<Result> {
    const { key, resource, forced, memory, signal } = observed;
    const { logger, observer, rivals } = this.#options;
    if (forced !== undefined) memory.source = undefined;
    const source = new PushSource(this.#options, { resource, memory, signal });
    try {
      const facts = await source.facts();
      if ("reason" in facts)
        return {
          report: { readyCondition: facts, forced },
          next: waitFor("time", resource.refreshIntervalMs),
        };
      const verify = forced !== undefined;
      const outcomes = await this.#pushAll({ ...observed, rivals, source, facts, verify });
      for (const { effect } of outcomes) {
        if (effect === undefined) continue;
        const action = effect.restored ? "restored" : "pushed";
        logger.info({ controller: "VaultPush", key, action }, `entry ${action}`);
        observer.written("VaultPush", action);
      }
      const { report, next } = summarize(outcomes, resource.refreshIntervalMs);
      return { report: { ...report, forced }, outcomes, next };
    } catch (error) {
      if (!(error instanceof SourceChangedError)) throw error;
      memory.source = undefined;
      return nothing({
        outcome: "retry",
        cause: "target",
        reason: "the Secret was changed concurrently",
      });
    }
  }

  /** Pushes the keys one by one, until one fails for a reason that concerns all keys. */
  async #pushAll(context: PushContext): Promise<readonly PushOutcome[]> {
    const outcomes: PushOutcome[] = [];
    for (const item of context.resource.items) {
      const outcome = await this.#options.limits.wait(() => this.#pusher.push(context, item));
      outcomes.push(outcome);
      if (outcome.ends === true) break;
    }
    return outcomes;
  }

  /** Returns the memory of this object, not of an earlier one with its name. */
  #memoryOf(key: string, { metadata }: KubeObject, before: PushStatus): PushMemory {
    const uid = metadata.uid ?? "";
    const known = this.#memory.get(key);
    if (known?.uid === uid) return known;
    const memory = newMemory(uid, before);
    this.#memory.set(key, memory);
    return memory;
  }
}
