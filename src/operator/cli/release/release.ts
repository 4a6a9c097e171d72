import { vaultPushKind, API_GROUP, syncedKinds } from "../../api/kinds.ts";
import { shardsByLeaseName } from "../../api/lease-names.ts";
import { isKubeError } from "../../kube/kube-error.ts";
import {
  CONFIG_MAPS,
  keyOf,
  type KubeObject,
  type ObjectMeta,
  type ResourceDescriptor,
  SECRETS,
  LEASES,
  ALL_NAMESPACES,
  groupOf,
  type OwnerReference,
} from "../../kube/resource.ts";
import { type Cluster, withCluster } from "../cluster.ts";
import { type Clock, systemClock } from "../../../lib/clock.ts";
import type { KubeApi, MergePatch } from "../../kube/client/kube-api.ts";
import {
  LEASE_LABEL,
  type LeaseRecord,
  readLease,
} from "../../kube/leader-election/lease-record.ts";
import type { ClusterFlags } from "../options.ts";
import { type Cell, formatTable } from "../../../command-line/format.ts";
import { stopSignal } from "../../../command-line/stop-signal.ts";
import { messageOf } from "../../../lib/errors.ts";
import {
  MANAGED_BY,
  MANAGED_BY_LABEL,
  MERGE_DOMAIN,
  MERGED_LABEL,
  OWNER_ANNOTATION,
  PUSH_FINALIZER,
} from "../../api/names.ts";
import { TARGET_ANNOTATIONS } from "../../api/target-annotations.ts";

/**
 * The resources that an object belongs to, and the patch that removes all traces of the operator.
 */
interface Release {
  /** The resources that the object belongs to, as `KIND/NAME`. */
  readonly owners: readonly string[];
  readonly patch: MergePatch;
}

const KINDS: readonly string[] = Object.keys(syncedKinds);

const isOurs = ({ apiVersion, kind }: OwnerReference): boolean =>
  groupOf(apiVersion) === API_GROUP && KINDS.includes(kind);
const isMark = (name: string): boolean => TARGET_ANNOTATIONS.includes(name);
const isClaim = (name: string): boolean => isMark(name) || name.startsWith(`${MERGE_DOMAIN}/`);

/**
 * Returns how to make a Secret or ConfigMap an ordinary object of its users, in one write: without
 * an owner that garbage collection follows, and without the marks by which an operator would
 * recognize it as its own. Its content stays, and so do the labels and annotations that its
 * resource requested. `undefined` if it has nothing of the operator.
 */
export function releaseOfTarget({
  labels = {},
  annotations = {},
  ownerReferences = [],
}: ObjectMeta): Release | undefined {
  const ours = ownerReferences.filter(isOurs);
  const claims = Object.keys(annotations).filter(isClaim);
  if (ours.length === 0 && claims.length === 0) return undefined;
  const merged = claims
    .filter((name) => name.startsWith(`${MERGE_DOMAIN}/`))
    .map((name) => name.slice(MERGE_DOMAIN.length + 1));
  const owner = annotations[OWNER_ANNOTATION];
  const owners = new Set([
    ...ours.map(({ kind, name }) => `${kind}/${name}`),
    ...(owner === undefined ? [] : [owner]),
    ...merged,
  ]);
  const marks = [
    ...(labels[MANAGED_BY_LABEL] === MANAGED_BY ? [MANAGED_BY_LABEL] : []),
    ...(labels[MERGED_LABEL] === undefined ? [] : [MERGED_LABEL]),
  ];
  const metadata = {
    ...(ours.length > 0 && {
      ownerReferences: ownerReferences.filter((reference) => !isOurs(reference)),
    }),
    ...(claims.length > 0 && {
      annotations: Object.fromEntries(claims.map((name) => [name, null])),
    }),
    ...(marks.length > 0 && { labels: Object.fromEntries(marks.map((name) => [name, null])) }),
  };
  return { owners: [...owners], patch: { metadata } };
}

/**
 * Returns how to make a VaultPush deletable without an operator: without the finalizer that waits
 * for the deletion of its entries. The entries stay in the vault. `undefined` without that
 * finalizer.
 */
export function releaseOfPush({ finalizers = [] }: ObjectMeta): Release | undefined {
  if (!finalizers.includes(PUSH_FINALIZER)) return undefined;
  return {
    owners: [],
    patch: {
      metadata: { finalizers: finalizers.filter((finalizer) => finalizer !== PUSH_FINALIZER) },
    },
  };
}

/** An object to release. */
export interface Releasable {
  readonly kind: ResourceDescriptor;
  readonly metadata: ObjectMeta;
  readonly release: Release;
  /** Returns what another state of the object still has of the operator. */
  readonly releaseOf: (metadata: ObjectMeta) => Release | undefined;
}

const sources = [
  { kind: SECRETS, releaseOf: releaseOfTarget },
  { kind: CONFIG_MAPS, releaseOf: releaseOfTarget },
  { kind: vaultPushKind, releaseOf: releaseOfPush },
] as const;

/**
 * Lists the metadata of a whole collection; nothing if the API server does not serve it. @throws
 * KubeError
 */
async function metadataOf(
  { api, namespace }: Cluster,
  kind: ResourceDescriptor,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  const objects = new Map<string, KubeObject>();
  try {
    for await (const { items } of api.list(
      kind,
      { namespace, paged: true, metadataOnly: true },
      signal,
    )) {
      for (const object of items) objects.set(keyOf(object.metadata), object);
    }
  } catch (error) {
    if (!isKubeError(error, "NotServed")) throw error;
  }
  return [...objects.values()];
}

/**
 * Finds everything that the operator left in a namespace or the cluster. It reads the metadata of
 * all Secrets and ConfigMaps, not only of those with the operator's label: garbage collection
 * follows an owner reference also where a user removed the label.
 * @throws KubeError
 */
export async function findReleases(cluster: Cluster, signal: AbortSignal): Promise<Releasable[]> {
  const found: Releasable[] = [];
  for (const { kind, releaseOf } of sources) {
    for (const { metadata } of await metadataOf(cluster, kind, signal)) {
      const release = releaseOf(metadata);
      if (release !== undefined) found.push({ kind, metadata, release, releaseOf });
    }
  }
  return found.toSorted((one, other) => keyOf(one.metadata).localeCompare(keyOf(other.metadata)));
}

/** Time between two reads of the Leases, in milliseconds. */
const POLL_MS = 1_000;

/**
 * Reports whether a Lease is one of an operator: its labels say it, and in releases without them
 * its name. A node has a Lease of its name.
 */
export const isOfOperator = ({ name, labels = {} }: ObjectMeta): boolean =>
  Object.hasOwn(labels, LEASE_LABEL) || shardsByLeaseName(name) !== undefined;

/** Returns the Leases of operators that have a holder, by namespace and name. @throws KubeError */
async function heldLeases(
  api: KubeApi,
  namespace: string,
  signal: AbortSignal,
): Promise<Map<string, LeaseRecord>> {
  const held = new Map<string, LeaseRecord>();
  for await (const { items } of api.list(LEASES, { namespace, paged: true }, signal)) {
    for (const object of items) {
      const lease = readLease(object);
      if (isOfOperator(object.metadata) && lease.holder !== "")
        held.set(keyOf(object.metadata), lease);
    }
  }
  return held;
}

/**
 * Returns the Lease of a running operator, as `NAMESPACE/NAME`, and its holder; `undefined` if none
 * runs. A Lease that has a holder is observed until it is renewed or has expired, because the
 * clocks of the holder and of this machine may differ. An operator without leader election has
 * none. @throws KubeError
 */
export async function runningOperator(
  api: KubeApi,
  { namespace, clock }: { readonly namespace: string; readonly clock: Clock },
  signal: AbortSignal,
): Promise<{ readonly lease: string; readonly holder: string } | undefined> {
  const first = await heldLeases(api, namespace, signal);
  const since = clock.monotonic();
  const longest = Math.max(0, ...[...first.values()].map(({ durationMs }) => durationMs));
  while (first.size > 0 && clock.monotonic() - since < longest) {
    await clock.sleep(POLL_MS, signal);
    for (const [lease, { holder, object }] of await heldLeases(api, namespace, signal)) {
      if (object.metadata.resourceVersion !== first.get(lease)?.object.metadata.resourceVersion)
        return { lease, holder };
    }
  }
  return undefined;
}

/** Flags of `vaultsync release`. */
export interface ReleaseFlags extends ClusterFlags {
  readonly operatorNamespace?: string;
  readonly confirm?: boolean;
}

/** Number of objects that are written simultaneously. */
const PARALLEL = 16;
/** Attempts to release an object that is changed concurrently. */
const ATTEMPTS = 5;

const STOP = "stop it first, for example with kubectl delete -k deploy/base (docs/uninstall.md)";

/** Releases one object. @throws KubeError */
async function releaseOne(
  api: KubeApi,
  { kind, metadata, releaseOf }: Releasable,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid } = metadata;
  let current = metadata;
  for (let attempt = 1; ; attempt += 1) {
    const release = releaseOf(current);
    if (release === undefined) return;
    const { resourceVersion } = current;
    try {
      await api.patch(kind, { namespace, name, uid, resourceVersion }, release.patch, signal);
      return;
    } catch (error) {
      if (!isKubeError(error, "Conflict") || attempt === ATTEMPTS) throw error;
    }
    current = (await api.getMetadata(kind, { namespace, name }, signal)).metadata;
  }
}

/** Releases an object, and returns what a table shows about it. */
async function outcomeOf(api: KubeApi, one: Releasable, signal: AbortSignal): Promise<Cell> {
  const released: Cell = { text: "released", color: "green" };
  try {
    await releaseOne(api, one, signal);
    return released;
  } catch (error) {
    signal.throwIfAborted();
    // The object was deleted after it was listed.
    if (isKubeError(error, "NotFound")) return released;
    return {
      text: `failed: ${messageOf(error)}`,
      color: "red",
    };
  }
}

/** Adds a remedy to the error of a denied request. */
function withRemedy(remedy: string): (error: unknown) => never {
  return (error) => {
    throw isKubeError(error, "Forbidden") ? new Error(`${error.message}: ${remedy}`) : error;
  };
}

const isFailed = (outcome: Cell): boolean => typeof outcome !== "string" && outcome.color === "red";

function tableOf(found: readonly Releasable[], outcomes: readonly Cell[]): string {
  const rows = found.map(({ kind, metadata, release }, index) => {
    const owners = release.owners.length === 0 ? "-" : release.owners.join(", ");
    return [
      metadata.namespace ?? "",
      `${kind.kind}/${metadata.name}`,
      owners,
      outcomes[index] ?? "",
    ];
  });
  return formatTable(["NAMESPACE", "OBJECT", "RESOURCE", "RESULT"], rows);
}

/**
 * Returns why nothing may be released while an operator runs: that operator would create further
 * targets, and add finalizers again.
 */
async function operatorProblem(
  { api }: Cluster,
  flags: ReleaseFlags,
  signal: AbortSignal,
): Promise<string | undefined> {
  const place = { namespace: flags.operatorNamespace ?? ALL_NAMESPACES, clock: systemClock };
  const remedy =
    "name the operator's namespace with --operator-namespace, or request the permission to list Leases there";
  const running = await runningOperator(api, place, signal).catch(withRemedy(remedy));
  return (
    running &&
    `an operator is running: ${running.holder} renews the Lease ${running.lease}: ${STOP}`
  );
}

async function releaseAll(
  cluster: Cluster,
  flags: ReleaseFlags,
  signal: AbortSignal,
): Promise<void> {
  const problem = await operatorProblem(cluster, flags, signal);
  if (problem !== undefined && flags.confirm === true)
    throw new Error(`nothing was released: ${problem}`);
  const remedy =
    "request the permission to list and patch Secrets, ConfigMaps and VaultPushes, or use --namespace";
  const found = await findReleases(cluster, signal).catch(withRemedy(remedy));
  const where =
    cluster.namespace === ALL_NAMESPACES ? "any namespace" : `namespace ${cluster.namespace}`;
  if (found.length === 0) process.stderr.write(`nothing to release in ${where}\n`);
  else if (flags.confirm !== true) {
    process.stdout.write(
      tableOf(
        found,
        found.map(() => "would be released"),
      ),
    );
    process.stderr.write(
      `nothing was changed: run the command again with --confirm to release ${found.length} objects\n`,
    );
  } else {
    const outcomes: Cell[] = [];
    for (let next = 0; next < found.length; next += PARALLEL) {
      const batch = found.slice(next, next + PARALLEL);
      outcomes.push(
        ...(await Promise.all(batch.map((one) => outcomeOf(cluster.api, one, signal)))),
      );
    }
    process.stdout.write(tableOf(found, outcomes));
    const failures = outcomes.filter(isFailed).length;
    process.stderr.write(`released ${found.length - failures} of ${found.length} objects\n`);
    if (failures > 0)
      throw new Error(
        `${failures} objects were not released: run the command again before you delete anything`,
      );
  }
  if (problem !== undefined) process.stderr.write(`${problem}\n`);
}

/** Releases all targets, or prints them. Changes nothing without `--confirm`. */
export async function releaseTargets(flags: ReleaseFlags): Promise<void> {
  using stop = stopSignal();
  const { signal } = stop;
  await withCluster(flags, (cluster) => releaseAll(cluster, flags, signal)).catch(
    (error: unknown) => {
      if (!signal.aborted) throw error;
      throw new Error("interrupted: run the command again before you delete anything");
    },
  );
}
