import { randomUUID } from "node:crypto";
import { systemClock } from "../../lib/clock.ts";
import { isObject } from "../../lib/is-object.ts";
import { FORCE_SYNC_ANNOTATION } from "../api/names.ts";
import { isKubeError, KubeError } from "../kube/kube-error.ts";
import type { KubeObject } from "../kube/resource.ts";
import { annotate, type AnnotationChanges } from "./annotate.ts";
import { type Cluster, withClusterUntilStopped } from "./cluster.ts";
import { type ClusterFlags, NOT_READY } from "./options.ts";
import { idOf, placedId, refOf, type ResourceName } from "./resource-name.ts";
import { type FanOutState, type ResourceState, stateOf } from "./status/resource-state.ts";
import { fanOutTable, isReady, problemLines, resourceTable } from "./status/status-tables.ts";
import { messageOf } from "../../lib/errors.ts";

/** Flags of `vaultsync sync`. */
export interface SyncFlags extends ClusterFlags {
  readonly timeout: number;
}

/** Time between two reads of a resource that is being synced, in milliseconds. */
const POLL_MS = 250;

const echoOf = ({ status }: KubeObject): unknown =>
  isObject(status) ? status["lastForceSync"] : undefined;

/** A request that is stored in the cluster, and that no operator has acted on yet. */
export class NotSyncedError extends Error {}

const isSuspended = ({ spec }: KubeObject): boolean => isObject(spec) && spec["suspend"] === true;

const suspendedText = (resource: ResourceName): string =>
  `${idOf(resource)} is suspended: set spec.suspend to false`;

/**
 * Requests a sync, with changes of other annotations, and waits until the operator reports it: of a
 * cluster-scoped resource, for all its namespaces. Returns the resource afterwards.
 * @throws NotSyncedError with the reason if not; Error if there is no such resource, or if it is
 * suspended: then it is unchanged; KubeError
 */
export async function syncOne(
  { api, namespace }: Cluster,
  resource: ResourceName,
  timeout: number,
  signal: AbortSignal,
  changes: AnnotationChanges = {},
): Promise<KubeObject> {
  const { kind } = resource;
  const ref = refOf(resource, namespace);
  const id = idOf(resource);
  const request = `${new Date(systemClock.now()).toISOString()} ${randomUUID()}`;
  const expired = systemClock.monotonic() + timeout * 1_000;
  try {
    // The changes would take effect as soon as the resource is not suspended any more.
    if (isSuspended(await api.get(kind, ref, signal))) throw new Error(suspendedText(resource));
    const next = () => ({ ...changes, [FORCE_SYNC_ANNOTATION]: request });
    let object = await annotate(api, kind, ref, next, signal);
    while (echoOf(object) !== request) {
      if (isSuspended(object)) throw new NotSyncedError(suspendedText(resource));
      if (systemClock.monotonic() > expired) {
        const { reason, message } = stateOf(object);
        const where = kind.namespaced ? namespace : "all namespaces";
        throw new NotSyncedError(
          `${id} was not synced within ${timeout} s (${reason}: ${message}): does an operator run for ${where}?`,
        );
      }
      await systemClock.sleep(POLL_MS, signal);
      object = await api.get(kind, ref, signal);
    }
    return object;
  } catch (error) {
    throw isKubeError(error, "NotFound") ? new Error(`no ${placedId(resource, namespace)}`) : error;
  }
}

/**
 * Prints the states of resources after a change, and a problem in separate lines. The exit code
 * says whether they are as requested.
 */
export function printStates(states: readonly (ResourceState | FanOutState)[], problem = ""): void {
  const options = { allNamespaces: false, items: false, now: systemClock.now() };
  const fannedOut = states.filter((one) => "failures" in one);
  const others = states.filter((one) => !("failures" in one));
  const tables = [
    ...(fannedOut.length > 0 ? [fanOutTable(fannedOut, options)] : []),
    ...(others.length > 0 ? [resourceTable(others, options)] : []),
  ];
  process.stdout.write(tables.join("\n"));
  const problems = `${problemLines(states, options)}${problem}`;
  if (problems !== "") process.stdout.write(`\n${problems}`);
  process.exitCode = states.every(isReady) && problem === "" ? 0 : NOT_READY;
}

async function syncAll(
  cluster: Cluster,
  names: readonly ResourceName[],
  { timeout }: SyncFlags,
  signal: AbortSignal,
) {
  const results = await Promise.allSettled(
    names.map((name) => syncOne(cluster, name, timeout, signal)),
  );
  signal.throwIfAborted();
  const synced = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failures: unknown[] = results.flatMap((one) =>
    one.status === "rejected" ? [one.reason] : [],
  );
  if (synced.length > 0) printStates(synced.map(stateOf));
  const ofRequest = failures.find((error) => error instanceof KubeError);
  // It gets a remedy.
  if (ofRequest !== undefined) throw ofRequest;
  if (failures.length > 0) throw new Error(failures.map(messageOf).join("\n"));
}

/** Syncs resources, and prints their state. Changes one annotation of each resource. */
export const sync = (names: readonly ResourceName[], flags: SyncFlags): Promise<void> =>
  withClusterUntilStopped(flags, (cluster, signal) => syncAll(cluster, names, flags, signal));
