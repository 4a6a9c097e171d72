import {
  clusterVaultFileKind,
  clusterVaultSecretKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";
import { OWNER_ANNOTATION } from "../../src/operator/api/names.ts";
import {
  CONFIG_MAPS,
  type KubeObject,
  NAMESPACES,
  type ResourceDescriptor,
  SECRETS,
} from "../../src/operator/kube/resource.ts";
import { claimsDigest } from "../../src/operator/controllers/fan-out/shown-targets.ts";
import { syncedKeys } from "../../src/operator/sync/target.ts";
import type { InMemoryApiServer } from "../lab/simulated/api-server/in-memory-api-server.ts";
import { type Spec, targetOf } from "./invariants/spec-items.ts";
import { type Selection, selectsNamespace } from "./selectors.ts";

/** The kinds of resources with a target in each of several namespaces. */
export const fanOutKinds = {
  ClusterVaultSecret: clusterVaultSecretKind,
  ClusterVaultFile: clusterVaultFileKind,
} as const;
export type FanOutKind = keyof typeof fanOutKinds;

const namespacedKinds: Readonly<Record<string, ResourceDescriptor>> = {
  VaultSecret: vaultSecretKind,
  VaultFile: vaultFileKind,
};

export const isFanOut = (kind: string): kind is FanOutKind => Object.hasOwn(fanOutKinds, kind);

/** Reports whether an owner, `<kind>/<name>`, is a resource for several namespaces. */
export const isFanOutOwner = (owner: string): boolean => isFanOut(owner.split("/")[0] ?? "");

/** A status of a resource for several namespaces. */
export interface FanOutStatus {
  readonly observedGeneration?: number;
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly namespaces?: {
    readonly selected: number;
    readonly ready: number;
    readonly failed: number;
  };
  readonly failures?: readonly {
    readonly namespace: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

type Server = Pick<InMemoryApiServer, "all" | "find">;

/** Returns the resource that an owner names: of a namespace or, of some kinds, of the cluster. */
export function findOwner(
  server: Pick<Server, "find">,
  namespace: string | undefined,
  owner: string,
): KubeObject | undefined {
  const [kind = "", name = ""] = owner.split("/");
  if (isFanOut(kind)) return server.find(fanOutKinds[kind], { name });
  const descriptor = namespacedKinds[kind];
  return descriptor && server.find(descriptor, { namespace, name });
}

/**
 * Returns the resource that an owner names, if it requests a target in a namespace: one for several
 * namespaces has to select it.
 */
export function findRequesting(
  server: Server,
  namespace: string,
  owner: string,
): KubeObject | undefined {
  const object = findOwner(server, namespace, owner);
  const isRequested = object && (!isFanOut(object.kind) || isSelected(server, object, namespace));
  return isRequested === true ? object : undefined;
}

/** Returns the names of the namespaces that are not being deleted. */
export const livingNamespaces = (server: Pick<Server, "all">): string[] =>
  server
    .all(NAMESPACES)
    .flatMap(({ metadata: { name, deletionTimestamp } }) =>
      deletionTimestamp === undefined ? [name] : [],
    );

/** Reports whether a resource selects a namespace that exists. */
export function isSelected(
  server: Pick<Server, "find">,
  { spec }: KubeObject,
  name: string,
): boolean {
  const namespace = server.find(NAMESPACES, { name });
  const { labels = {} } = namespace?.metadata ?? {};
  return namespace !== undefined && selectsNamespace(spec as Selection, name, labels);
}

/** Returns the resources for several namespaces. */
export const fanOutResources = (server: Pick<Server, "all">): KubeObject[] =>
  Object.values(fanOutKinds).flatMap((kind) => server.all(kind));

/**
 * Returns the resources for several namespaces as one object for each namespace that they select
 * and that is not being deleted, as the operator works with them. Its status of such an object is in its memory, so these have what
 * the status of the resource says of their namespace: its Ready, without items, `syncedAt` and the
 * resourceVersion of the target. That status has each other condition of the first namespace with
 * it: Stale and Stalled count for that one, and the rest for every namespace. Rules about items do
 * not judge these objects.
 */
export const fannedOut = (server: Server): KubeObject[] =>
  fanOutResources(server)
    .filter((object) => !selectsEnding(server, object))
    .flatMap((object) =>
      livingNamespaces(server)
        .filter((namespace) => isSelected(server, object, namespace))
        .map((namespace) => ({
          ...object,
          metadata: { ...object.metadata, namespace },
          status: statusIn(server, object, namespace),
        })),
    );

/** Reports whether a resource selects a namespace that is being deleted. */
export const selectsEnding = (server: Server, object: KubeObject): boolean =>
  server
    .all(NAMESPACES)
    .some(
      ({ metadata: { name, deletionTimestamp } }) =>
        deletionTimestamp !== undefined && isSelected(server, object, name),
    );

/** Returns what the status of a resource says of a namespace. */
function statusIn(server: Server, object: KubeObject, namespace: string): object {
  const { conditions = [], failures = [], namespaces, ...others } = fanOutStatus(object);
  const failure = failures.find((one) => one.namespace === namespace);
  const { selected = 1, ready = 0, failed = 0 } = namespaces ?? {};
  const isKnown = selected === ready + failed;
  const own = ((): object => {
    const isSuspended = failure?.reason === "Suspended";
    if (failure !== undefined) return { ...failure, status: isSuspended ? "Unknown" : "False" };
    if (isKnown) return { status: "True", reason: "Synced", message: "" };
    return { status: "False", reason: "Progressing", message: "not known" };
  })();
  const isOthers = ({ type, message }: (typeof conditions)[number]): boolean =>
    ["Stale", "Stalled"].includes(type) && !message.includes(`${namespace}: `);
  const shown = conditions
    .filter((one) => !isOthers(one))
    .map((one) => (one.type === "Ready" ? { ...one, ...own } : one));
  return { ...others, conditions: shown, ...shownTarget(server, object, namespace) };
}

export const fanOutStatus = ({ status = {} }: KubeObject): FanOutStatus => status as FanOutStatus;

/**
 * Returns the target of a resource in a namespace, if it has one, with the digest for which
 * workloads are restarted: nothing but the annotations of a target is known to all processes.
 */
function shownTarget(server: Server, { kind, metadata, spec }: KubeObject, namespace: string) {
  const target = targetOf(kind, metadata.name, spec as Spec);
  const descriptor = target.kind === "Secret" ? SECRETS : CONFIG_MAPS;
  const found = server.find(descriptor, { namespace, name: target.name });
  const { annotations = {} } = found?.metadata ?? {};
  if (annotations[OWNER_ANNOTATION] !== `${kind}/${metadata.name}`) return {};
  const { synced, annotationsCorrupted } = syncedKeys(annotations);
  return { target: { ...target, ...(!annotationsCorrupted && { digest: claimsDigest(synced) }) } };
}
