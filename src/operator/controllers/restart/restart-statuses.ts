import { isDeepStrictEqual } from "node:util";
import { MAX_STATUS_RESTARTS, type RestartStatus } from "../../api/status.ts";
import type { Clock } from "../../../lib/clock.ts";
import { isObject } from "../../../lib/is-object.ts";
import type { ReadonlyStore } from "../../kube/cache/object-store.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { readStatus } from "../../sync/stored-status.ts";
import { StatusWriter } from "../outcome/status-writer.ts";
import { syncedKinds } from "../../api/kinds.ts";
import { fansOut, forEachKind, parseSyncKey, type SyncKind } from "../../sync/sync-key.ts";
import type { Entry } from "./restart-entry.ts";
import type { RestartIndex } from "./restart-index.ts";
import { parseWorkloadKey, type WorkloadRef } from "./workload.ts";

export interface RestartStatusesOptions {
  readonly api: KubeApi;
  readonly resources: Readonly<Record<SyncKind, ReadonlyStore<KubeObject>>>;
  readonly index: Pick<RestartIndex, "showing">;
  readonly clock: Clock;
}

type Workload = Pick<WorkloadRef, "kind" | "name">;

const isOf =
  ({ kind, name }: Workload) =>
  (one: RestartStatus): boolean =>
    one.kind === kind && one.name === name;

/**
 * Newest first; workloads that were never restarted last. Equal times in a fixed order: the list
 * does not change by itself.
 */
function byTime(a: RestartStatus, b: RestartStatus): number {
  const [one, other] = [a, b].map(({ time = "", kind, name }) => ({
    time,
    key: `${kind}/${name}`,
  }));
  if (one === undefined || other === undefined) return 0;
  if (one.time !== other.time) return one.time < other.time ? 1 : -1;
  return one.key < other.key ? -1 : 1;
}

/**
 * Writes `status.restarts` of the resources, each only if it changes, and leaves the rest of the
 * status unchanged. The reconciler of the resource is another writer of the status: the version of
 * the resource is the precondition of both.
 */
export class RestartStatuses {
  readonly #options: RestartStatusesOptions;
  readonly #writers: Readonly<Record<SyncKind, StatusWriter>>;

  constructor(options: RestartStatusesOptions) {
    const { api, clock } = options;
    this.#options = options;
    this.#writers = forEachKind((kind) => new StatusWriter(api, syncedKinds[kind], clock));
  }

  /**
   * Makes the statuses of these resources show an entry of the workload, and removes the entry from
   * all other statuses.
   * @throws KubeError, `Conflict` when a resource has changed concurrently
   */
  async show(
    workload: string,
    users: ReadonlySet<string>,
    entry: Entry | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { kind, name } = parseWorkloadKey(workload);
    for (const user of new Set([...users, ...this.#options.index.showing(workload)])) {
      const isShown = users.has(user) && entry !== undefined;
      await this.#show(
        user,
        { kind, name },
        isShown ? { kind, name, ...entry } : undefined,
        signal,
      );
    }
  }

  async #show(
    key: string,
    workload: Workload,
    entry: RestartStatus | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { kind, objectKey } = parseSyncKey(key);
    // The status of a resource for several namespaces does not show their workloads.
    if (fansOut(kind)) return;
    const object = this.#options.resources[kind].get(objectKey);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined) return;
    const current = this.#writers[kind].current(key, object);
    const { restarts = [] } = readStatus(kind, current);
    // The reconciler of the resource writes the first status; this entry follows.
    if (!isObject(current) || isDeepStrictEqual(restarts.find(isOf(workload)), entry)) return;
    const others = restarts.filter((one) => !isOf(workload)(one));
    const next = [...others, ...(entry === undefined ? [] : [entry])]
      .sort(byTime)
      .slice(0, MAX_STATUS_RESTARTS);
    const { restarts: _, ...rest } = current;
    await this.#writers[kind].write(
      key,
      object,
      { ...rest, ...(next.length > 0 && { restarts: next }) },
      signal,
    );
  }

  /** Drops what is remembered of a deleted resource. */
  forget(key: string): void {
    this.#writers[parseSyncKey(key).kind].forget(key);
  }
}
