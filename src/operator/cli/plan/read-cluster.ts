import { connectionKey, type ConnectionRef } from "../../api/connection-key.ts";
import { clusterConnectionSpec, connectionSpec } from "../../api/vault-connection.ts";
import { connectionKinds, syncedKinds } from "../../api/kinds.ts";
import { FREEZE_CONFIG_MAP } from "../../api/names.ts";
import { freezeIn, type NamespaceFacts, namespaceFacts } from "../../connection/namespace-facts.ts";
import { ifFound, isKubeError } from "../../kube/kube-error.ts";
import { ALL_NAMESPACES, CONFIG_MAPS, type KubeObject, NAMESPACES } from "../../kube/resource.ts";
import type { Freeze } from "../../sync/freeze.ts";
import { type Cluster, listAll } from "../cluster.ts";
import { listFannedOut } from "../list-fanned-out.ts";
import { parsedResource } from "../read-resource.ts";
import { refOf } from "../resource-name.ts";
import { syncKindOf } from "../synced-kind.ts";
import { readUsage, usingResource } from "../usage/read-usage.ts";
import type { ClusterState, NamespaceState } from "./cluster-state.ts";
import {
  connectionOf,
  keyOfReference,
  type Plan,
  type PlannedConnection,
} from "./planned-resource.ts";

const OWNERS_HIDDEN =
  "whether other resources have the targets of ClusterVaultSecrets and ClusterVaultFiles is not checked: you may not list the VaultSecrets and VaultFiles of all namespaces";

type Api = Cluster["api"];
type Referring = Plan["resources"][number] | Plan["pushes"][number];

/** Returns what a request reads; `denied` if the user may not send it. @throws KubeError */
async function ifAllowed<T>(request: Promise<T>): Promise<T | "denied"> {
  try {
    return await request;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return "denied";
    throw error;
  }
}

/** Returns the connection that a resource refers to, if there is one and its spec is valid. */
async function readConnection(
  api: Api,
  { manifest }: Referring,
  { kind, name }: ConnectionRef,
  signal: AbortSignal,
): Promise<PlannedConnection | "denied" | undefined> {
  const named = { kind: connectionKinds[kind], name };
  const ref = refOf(named, manifest.namespace);
  const object = await ifAllowed(ifFound(api.get(named.kind, ref, signal)));
  if (object === undefined || object === "denied") return object;
  const schema = kind === "VaultConnection" ? connectionSpec : clusterConnectionSpec;
  const { data: spec } = schema.safeParse(object["spec"]);
  return spec && { kind, manifest: { ...manifest, kind, name }, spec };
}

/** Reads what the user may see of a namespace, and the notes about the rest. */
async function readNamespace(
  api: Api,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly state: NamespaceState; readonly notes: readonly string[] }> {
  const [namespace, usage] = await Promise.all([
    ifAllowed(ifFound(api.getMetadata(NAMESPACES, { name }, signal))),
    ifAllowed(readUsage({ api, namespace: name }, signal)),
  ]);
  const facts =
    namespace === "denied" || namespace === undefined ? undefined : namespaceFacts(namespace);
  if (usage === "denied") {
    const note = `the resources in namespace ${name} are not compared with the cluster: you may not list its VaultSecrets and VaultFiles`;
    return { state: { facts, usage: undefined }, notes: [note] };
  }
  const unseen = `restarts in namespace ${name} are not all shown: you may not list ${usage.unseen.join(", ")}`;
  return { state: { facts, usage }, notes: usage.unseen.length > 0 ? [unseen] : [] };
}

/** Reads all namespaces of the cluster. */
async function readNamespaces(
  api: Api,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, NamespaceFacts>> {
  const found = new Map<string, NamespaceFacts>();
  const options = { namespace: ALL_NAMESPACES, paged: true, metadataOnly: true };
  const pages = api.list(NAMESPACES, { ...options, managedFields: true }, signal);
  for await (const { items } of pages)
    for (const one of items) found.set(one.metadata.name, namespaceFacts(one));
  return found;
}

/** Reads the cluster-scoped resources of a plan that exist, by kind and name. */
async function readFannedOut(
  api: Api,
  { fannedOut }: Plan,
  signal: AbortSignal,
): Promise<ClusterState["fannedOut"]> {
  const found = new Map<string, KubeObject | "denied">();
  for (const { manifest } of fannedOut) {
    const { kind, name } = manifest;
    const object = await ifAllowed(
      ifFound(api.get(syncedKinds[syncKindOf(manifest)], { name }, signal)),
    );
    if (object !== undefined) found.set(`${kind}/${name}`, object);
  }
  return found;
}

/**
 * Reads the VaultSecrets and VaultFiles of all namespaces, if a plan may have targets in each of
 * them.
 */
async function readEverywhere(
  api: Api,
  { fannedOut }: Plan,
  signal: AbortSignal,
): Promise<ClusterState["everywhere"] | "denied"> {
  if (fannedOut.length === 0) return new Map();
  const kinds = [syncedKinds.VaultSecret, syncedKinds.VaultFile];
  const cluster = { api, namespace: ALL_NAMESPACES };
  const lists = kinds.map((kind) => listAll(cluster, kind, signal));
  const objects = await ifAllowed(Promise.all(lists));
  if (objects === "denied") return objects;
  return Map.groupBy(objects.flat().map(usingResource), ({ namespace }) => namespace);
}

/** Reads the freeze of all or some namespaces as the operator does. */
async function readFreeze(
  api: Api,
  namespace: string,
  signal: AbortSignal,
): Promise<Freeze | undefined> {
  const fieldSelector = `metadata.name=${FREEZE_CONFIG_MAP}`;
  const options = { namespace, fieldSelector, paged: true, managedFields: true };
  for await (const { items } of api.list(CONFIG_MAPS, options, signal)) {
    const [object] = items;
    if (object !== undefined) return freezeIn(object);
  }
  return undefined;
}

/** Returns what refers to a connection: the files, and the resources that they replace. */
function references(
  { resources, fannedOut, pushes }: Plan,
  { namespaces, fannedOut: existing }: Pick<ClusterState, "namespaces" | "fannedOut">,
): Map<string, { readonly one: Referring; readonly ref: ConnectionRef }> {
  const found = new Map<string, { readonly one: Referring; readonly ref: ConnectionRef }>();
  for (const one of [...resources, ...fannedOut, ...pushes])
    found.set(keyOfReference(one), { one, ref: connectionOf(one) });
  for (const one of [...resources, ...fannedOut]) {
    const { kind, name, namespace } = one.manifest;
    const object =
      existing.get(`${kind}/${name}`) ??
      namespaces
        .get(namespace)
        ?.usage?.resources.find((live) => live.kind === kind && live.name === name)?.object;
    if (object === undefined || object === "denied") continue;
    const ref = parsedResource(object).connection;
    found.set(connectionKey(ref, namespace), { one, ref });
  }
  return found;
}

/**
 * Reads what a cluster has of the resources of a plan, and around them: metadata, specs and
 * statuses, no Secret and no value. What the user may not read is noted. @throws KubeError
 */
export async function readCluster(
  { api }: Pick<Cluster, "api">,
  plan: Plan,
  operatorNamespace: string,
  signal: AbortSignal,
): Promise<ClusterState> {
  const names = new Set([...plan.resources, ...plan.pushes].map((one) => one.manifest.namespace));
  const read = await Promise.all(
    [...names].map(async (name) => [name, await readNamespace(api, name, signal)] as const),
  );
  const namespaces = new Map(read.map(([name, { state }]) => [name, state]));
  const everywhere = await readEverywhere(api, plan, signal);
  const notChecked = [
    ...read.flatMap(([, { notes }]) => notes),
    ...(everywhere === "denied" ? [OWNERS_HIDDEN] : []),
  ];
  const fannedOut = await readFannedOut(api, plan, signal);
  const { objects: clusterWide } = await listFannedOut({ api }, signal);
  const all = plan.fannedOut.length > 0 ? await ifAllowed(readNamespaces(api, signal)) : "denied";
  const connections = new Map<string, PlannedConnection>();
  const unreadable = new Set<string>();
  for (const [key, { one, ref }] of references(plan, { namespaces, fannedOut })) {
    const connection = await readConnection(api, one, ref, signal);
    if (connection === "denied") unreadable.add(key);
    else if (connection !== undefined) connections.set(key, connection);
  }
  const freeze = await ifAllowed(readFreeze(api, operatorNamespace, signal));
  return {
    connections,
    unreadable,
    namespaces,
    allNamespaces: all === "denied" ? undefined : all,
    fannedOut,
    clusterWide: clusterWide.map(usingResource),
    everywhere: everywhere === "denied" ? new Map() : everywhere,
    freeze: freeze === "denied" ? "unknown" : freeze,
    notChecked,
  };
}
