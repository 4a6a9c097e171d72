import { formatTable } from "../../command-line/format.ts";
import {
  clusterVaultConnectionKind,
  type Kind,
  syncedKinds,
  vaultFileKind,
  vaultSecretKind,
} from "../api/kinds.ts";
import { ACCEPT_ANNOTATION } from "../api/names.ts";
import { ALL_NAMESPACES, type KubeObject } from "../kube/resource.ts";
import { annotate } from "./annotate.ts";
import { type Cluster, listAll, withClusterUntilStopped } from "./cluster.ts";
import { listFannedOutInto } from "./list-fanned-out.ts";
import { type ClusterFlags, NOT_READY } from "./options.ts";
import { followingItems, parsedResource } from "./read-resource.ts";
import { idOf, placedId, refOf } from "./resource-name.ts";
import { syncKindOf } from "./synced-kind.ts";
import { fanOutState, type ItemState, resourceState } from "./status/resource-state.ts";
import { usesConnection, type ConnectionRef } from "../api/connection-key.ts";

/** Flags of `vaultsync accept`. */
export interface AcceptFlags extends ClusterFlags {
  readonly connection: ConnectionRef;
  readonly dryRun?: boolean;
}

/** A resource whose vault lists lower versions than it has synced. */
interface Regressed {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly items: readonly { source: string; version: number; latest: number }[];
  /** Number of items that the status does not show: more of them may have lower versions. */
  readonly itemsOmitted: number;
}

/** The reason of a resource whose vault lists lower versions than it has synced. */
const REGRESSED = "VersionRegressed";

/** Reasons of other items that a resource shows in its place. No annotation helps these items. */
const HIDING: readonly string[] = ["AmbiguousName", "VersionNotFound"];

/** Reports whether a resource waits for that, a cluster-scoped one in any of its namespaces. */
function isRegressed(object: KubeObject): boolean {
  const { reason, failures } = fanOutState(object);
  return reason === REGRESSED || failures.some((one) => one.reason === REGRESSED);
}

/** Returns the items that may wait for that. A hold keeps all of them. */
function waitingItems(object: KubeObject): readonly ItemState[] {
  const { reason, items } = resourceState(object);
  if (isRegressed(object)) return items;
  const resource = parsedResource(object);
  const isHidden = HIDING.includes(reason) && resource.hold === undefined;
  return isHidden ? followingItems(object, resource) : [];
}

/** Returns the lower versions that a resource waits for, if it waits for that. */
function regressed(kind: Kind, object: KubeObject): Regressed[] {
  const { namespace, name, itemsOmitted } = resourceState(object);
  const items = waitingItems(object).flatMap(({ source, version, latest }) =>
    version !== undefined && latest !== undefined && latest < version
      ? [{ source, version, latest }]
      : [],
  );
  return items.length === 0 ? [] : [{ kind, namespace, name, items, itemsOmitted }];
}

/** The resources whose versions are accepted, and lines about others that wait. */
interface Found {
  readonly resources: readonly Regressed[];
  readonly others: readonly string[];
}

async function findRegressed(
  cluster: Cluster,
  connection: ConnectionRef,
  signal: AbortSignal,
): Promise<Found> {
  const found = await Promise.all(
    [vaultSecretKind, vaultFileKind].map(async (kind) =>
      (await listAll(cluster, kind, signal))
        .filter((object) => usesConnection(object["spec"], connection))
        .flatMap((object) => regressed(kind, object)),
    ),
  );
  const fannedOut = await findFannedOut(cluster, connection, signal);
  return { ...fannedOut, resources: [...found.flat(), ...fannedOut.resources] };
}

/**
 * Returns the cluster-scoped resources whose versions are accepted: for all namespaces only, because
 * their annotation concerns all of them.
 */
async function findFannedOut(
  cluster: Cluster,
  connection: ConnectionRef,
  signal: AbortSignal,
): Promise<Found> {
  if (connection.kind !== clusterVaultConnectionKind.kind) return { resources: [], others: [] };
  const isForAll = cluster.namespace === ALL_NAMESPACES;
  const resources: Regressed[] = [];
  const others: string[] = [];
  for (const object of await listFannedOutInto(cluster, signal)) {
    if (!usesConnection(object["spec"], connection) || !isRegressed(object)) continue;
    const name = { kind: syncedKinds[syncKindOf(object)], name: object.metadata.name };
    const known = regressed(name.kind, object);
    if (isForAll && known.length > 0) resources.push(...known);
    else if (isForAll)
      others.push(
        `${idOf(name)} waits as well, and its status does not show which versions: set its annotation ${ACCEPT_ANNOTATION}`,
      );
    else others.push(`${idOf(name)} waits as well: accept its versions with --all-namespaces`);
  }
  return { resources, others };
}

/** Returns the annotation that accepts these versions in addition to earlier ones. */
function acceptedBy({ items }: Regressed, earlier: string | undefined): string {
  const pairs = items.map(({ source, latest }) => `${source}@${latest}`);
  const before = (earlier ?? "").split(",").filter((pair) => pair !== "" && !pairs.includes(pair));
  return [...before, ...pairs].join(",");
}

async function acceptAll(
  cluster: Cluster,
  { connection, dryRun = false }: AcceptFlags,
  signal: AbortSignal,
): Promise<void> {
  const { resources, others } = await findRegressed(cluster, connection, signal);
  const rows = resources.flatMap(({ kind, namespace, name, items }) =>
    items.map(({ source, version, latest }) => [
      namespace || "-",
      `${kind.singular}/${name}`,
      source,
      String(version),
      String(latest),
    ]),
  );
  const header = ["NAMESPACE", "RESOURCE", "ENTRY", "SYNCED", "ACCEPTED"];
  if (rows.length > 0) process.stdout.write(formatTable(header, rows));
  for (const resource of dryRun ? [] : resources) {
    const { kind, namespace, name } = resource;
    const next = (current: Readonly<Record<string, string>>) => ({
      [ACCEPT_ANNOTATION]: acceptedBy(resource, current[ACCEPT_ANNOTATION]),
    });
    await annotate(cluster.api, kind, refOf({ kind, name }, namespace), next, signal);
  }
  const partial = resources.filter(({ itemsOmitted }) => itemsOmitted > 0);
  for (const { namespace, ...one } of partial)
    process.stderr.write(
      `${placedId(one, namespace)} may have further lower versions that its status does not show: run the command again when it is synced\n`,
    );
  if (partial.length > 0) process.exitCode = NOT_READY;
  const done = dryRun ? "would accept" : "accepted";
  for (const line of others) process.stderr.write(`${line}\n`);
  if (others.length > 0) process.exitCode = NOT_READY;
  process.stderr.write(
    `${done} lower versions of ${rows.length} entries in ${resources.length} resources of ${connection.kind} ${connection.name}\n`,
  );
}

/** Accepts the lower versions of a vault that was restored. Changes one annotation of each resource. */
export const accept = (flags: AcceptFlags): Promise<void> =>
  withClusterUntilStopped(flags, (cluster, signal) => acceptAll(cluster, flags, signal));
