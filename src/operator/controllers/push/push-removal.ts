import type { ReconcilerParts } from "../outcome/parts.ts";
import { vaultPushKind } from "../../api/kinds.ts";
import { PUSH_FINALIZER } from "../../api/names.ts";
import { connectionKey } from "../../api/connection-key.ts";
import type { PushItemStatus } from "../../api/vault-push.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { ReconcileResult } from "../../runtime/controller.ts";
import { notReady } from "../../sync/ready-condition.ts";
import type { Snapshot } from "../../vault-client/connection.ts";
import { isVaultError } from "../../vault-client/vault-error.ts";
import { explainFailure } from "../../connection/connection-problem.ts";
import type { ConnectionRegistry } from "../connection/connection-registry.ts";
import type { OpenConnection } from "../connection/connection-state.ts";
import { FRESH_LIST_MS, type FreshLists } from "../outcome/fresh-lists.ts";
import { type WriteObserver, DONE, waitFor } from "../outcome/outcome.ts";
import {
  isSameVersion,
  listedVersion,
  ownEntry,
  type WritableEntry,
} from "../../push/listed-entry.ts";
import type { ItemPusherOptions } from "./push-attempt.ts";
import { entryContent, keyFacts } from "../../push/push-content.ts";
import { pushFailure } from "./push-outcome.ts";
import type { PushMemory } from "./push-memory.ts";
import {
  entryOf,
  itemId,
  kindsOf,
  type ParsedPush,
  type PushItem,
  type PushResource,
} from "../../push/push-resource.ts";
import type { PushRivals } from "./push-rivals.ts";
import type { PushReport } from "../../push/push-status.ts";
import { recordRemoval } from "./record-push-events.ts";

export interface PushRemovalOptions extends ItemPusherOptions, ReconcilerParts {
  readonly connections: Pick<ConnectionRegistry, "get">;
  readonly rivals: PushRivals;
  readonly lists: FreshLists;
  readonly observer: WriteObserver;
}

interface Context {
  readonly key: string;
  readonly object: KubeObject;
  readonly memory: PushMemory;
  readonly signal: AbortSignal;
}

interface Result {
  readonly report: PushReport | undefined;
  readonly next: ReconcileResult;
}

/**
 * Time in milliseconds after which a deletion no longer waits for a VaultConnection that does not
 * exist: the deletion of a namespace removes both.
 */
const ABSENT_CONNECTION_MS = 5 * 60_000;
const CHECK_MS = 60_000;

const NOT_LATEST = "its latest version is not the one that was pushed";
const NOT_CREATED = "the status does not show that this resource created it";
const WAY_OUT = "To delete the resource and keep the entries, set spec.deletionPolicy to Retain";

/**
 * Deletes the entries of a VaultPush that is being deleted, then removes its finalizer. An entry is
 * deleted only if the status proves that this resource created it and pushed its latest version.
 */
export class PushRemoval {
  readonly #options: PushRemovalOptions;

  constructor(options: PushRemovalOptions) {
    this.#options = options;
  }

  /** @throws KubeError */
  async run(context: Context, parsed: ParsedPush): Promise<Result> {
    if (!parsed.ok)
      return this.#wait(
        parsed.readyCondition.reason,
        `${parsed.readyCondition.message}. ${WAY_OUT}`,
      );
    const { resource } = parsed;
    if (resource.deletionPolicy === "Retain" || resource.suspend) return this.#finish(context);
    const owned = resource.items.filter((item) => isCreated(context, item));
    const [first] = owned;
    if (first === undefined) return this.#finish(context, resource);
    const unknown = this.#options.rivals.unknownRival(first);
    if (unknown !== undefined)
      return this.#wait(
        "TargetForbidden",
        `the entries are not deleted yet: ${unknown}. ${WAY_OUT}`,
      );
    const state = this.#options.connections.get(
      connectionKey(resource.connection, resource.namespace),
    );
    const access = (state.state === "absent" && state.leaving) || state;
    if (access.state === "opening")
      return { report: undefined, next: waitFor("connection", CHECK_MS) };
    if (access.state === "absent") return this.#withoutConnection(context, resource);
    if (access.state === "invalid")
      return this.#wait(
        "ConnectionNotReady",
        `the entries are not deleted yet: ${access.message}. ${WAY_OUT}`,
      );
    if (access.vault !== context.memory.vault) {
      this.#record(
        context,
        false,
        "the VaultConnection now leads to another vault or account: the entries of the former one are kept",
      );
      return this.#finish(context);
    }
    return this.#remove(context, resource, owned, access);
  }

  async #remove(
    context: Context,
    resource: PushResource,
    owned: readonly PushItem[],
    access: OpenConnection,
  ): Promise<Result> {
    const { connection } = access;
    const { snapshot, health } = connection;
    const isCovered =
      snapshot !== undefined && owned.every(({ kind, name }) => snapshot.covers(kind, name));
    const list = this.#options.lists.request(context.key, "removal", connection, kindsOf(owned));
    if (!isCovered || list !== "listed") {
      const error = list instanceof Error ? list : health.error;
      if (error === undefined)
        return { report: undefined, next: waitFor("connection", FRESH_LIST_MS) };
      const why = explainFailure(error, access.facts);
      return this.#wait("VaultUnreachable", `the entries are not deleted yet: ${why}. ${WAY_OUT}`);
    }
    for (const item of owned) {
      const failure = await this.#removeEntry(context, item, access, snapshot);
      if (failure !== undefined) return failure;
    }
    return this.#finish(context, resource);
  }

  /** Deletes one entry. Returns the result if that has to be tried again. */
  async #removeEntry(
    context: Context,
    item: PushItem,
    access: OpenConnection,
    snapshot: Snapshot,
  ): Promise<Result | undefined> {
    const { object, memory, signal } = context;
    const { rivals, guard } = this.#options;
    const entry = ownEntry(item, snapshot, access.account);
    const { record: listed } = entry;
    const record = memory.records.get(itemId(item));
    if (listed === undefined || record === undefined) return undefined;
    // A list may omit whether it is shared.
    const isReceived = "shared" in listed && listed.shared !== false;
    const keep = (why: string): undefined => {
      this.#record(context, false, `kept the ${entryOf(item)}: ${why}`);
    };
    if (!isProven(record, listedVersion(listed))) return keep(NOT_LATEST);
    if (rivals.isShared(access, object, item, isReceived))
      return keep("another VaultPush pushes to it");
    try {
      if (!(await this.#isPushed(context, item, record, entry, access))) return keep(NOT_LATEST);
      await access.connection.remove(item.kind, item.name, guard, signal);
    } catch (error) {
      signal.throwIfAborted();
      const isGone =
        isVaultError(error) &&
        error.kind === "permanent" &&
        /^(secret|file)_not_found$/.test(error.code);
      if (!isGone) {
        this.#options.lists.forget(context.key);
        const { condition, next } = pushFailure(error, item, entry);
        const result = this.#wait(condition.reason, `${condition.message}. ${WAY_OUT}`);
        return next.outcome === "retry" ? { ...result, next } : result;
      }
    }
    this.#record(context, true, `deleted the ${entryOf(item)} in the vault`);
    return undefined;
  }

  /**
   * Reports whether the vault has the bytes that were pushed, whatever its list shows: it may be an
   * old one.
   */
  async #isPushed(
    { object, signal }: Context,
    item: PushItem,
    { content, version }: PushItemStatus,
    { shared }: WritableEntry,
    { connection, vault, account }: OpenConnection,
  ): Promise<boolean> {
    const address = { kind: item.kind, name: item.name, owner: account, received: false, shared };
    const { namespace = "", name } = object.metadata;
    const consumer = { kind: vaultPushKind.kind, namespace, name };
    const latest = await connection.latest({ ...address, consumer }, signal);
    if (latest === undefined || (latest.version ?? version) !== version) return false;
    const { contentKey } = this.#options;
    const { digest } = keyFacts(contentKey, latest.bytes.reveal());
    return entryContent(contentKey, item, { vault, owner: undefined }, digest) === content;
  }

  #withoutConnection(context: Context, { connection }: PushResource): Promise<Result> | Result {
    const since = Date.parse(context.object.metadata.deletionTimestamp ?? "");
    const left = since + ABSENT_CONNECTION_MS - this.#options.clock.now();
    const gone = `${connection.kind} ${connection.name} does not exist`;
    if (left > 0) {
      const message = `the entries are not deleted yet: ${gone}. Without it they are kept in five minutes. ${WAY_OUT}`;
      return {
        ...this.#wait("ConnectionNotFound", message),
        next: waitFor("connection", Math.min(left, CHECK_MS)),
      };
    }
    this.#record(context, false, `kept the entries in the vault: ${gone}`);
    return this.#finish(context);
  }

  #wait(reason: Parameters<typeof notReady>[0], message: string): Result {
    return {
      report: { readyCondition: notReady(reason, message) },
      next: waitFor("connection", CHECK_MS),
    };
  }

  #record({ key, object }: Context, deleted: boolean, note: string): void {
    const fields = {
      controller: "VaultPush",
      key,
      action: deleted ? "deleted" : "kept",
      message: note,
    };
    this.#options.logger.info(fields, deleted ? "entry deleted" : "entry kept");
    if (deleted) this.#options.observer.written("VaultPush", "deleted");
    recordRemoval(this.#options.events, object, deleted, note);
  }

  /** Removes the finalizer, and reports the entries of `resource` that were not to be deleted. */
  async #finish(context: Context, resource?: PushResource): Promise<Result> {
    await setFinalizer(this.#options.api, context.object, false, context.signal);
    for (const item of resource?.items ?? []) {
      if (!isCreated(context, item))
        this.#record(context, false, `kept the ${entryOf(item)}: ${NOT_CREATED}`);
    }
    return { report: undefined, next: DONE };
  }
}

const isCreated = ({ memory }: Context, item: PushItem): boolean =>
  memory.records.get(itemId(item))?.created === true;

/**
 * Reports whether the listed version is certainly the pushed one. Without a creation time, that is
 * never certain.
 */
function isProven(
  record: PushItemStatus,
  listed: { readonly version: number; readonly createdAt: string | undefined },
): boolean {
  return (
    record.createdAt !== undefined &&
    listed.createdAt !== undefined &&
    isSameVersion(record, listed)
  );
}

export const hasFinalizer = ({ metadata }: KubeObject): boolean =>
  metadata.finalizers?.includes(PUSH_FINALIZER) === true;

/**
 * Adds or removes the finalizer; others are kept. @throws KubeError, `Conflict` when the resource
 * has changed concurrently
 */
export async function setFinalizer(
  api: KubeApi,
  { metadata }: KubeObject,
  wanted: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid, resourceVersion, finalizers = [] } = metadata;
  const others = finalizers.filter((finalizer) => finalizer !== PUSH_FINALIZER);
  const patch = { metadata: { finalizers: wanted ? [...others, PUSH_FINALIZER] : others } };
  await api.patch(vaultPushKind, { namespace, name, uid, resourceVersion }, patch, signal);
}
