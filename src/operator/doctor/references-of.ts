import { fileSource } from "../controllers/sync/file-source.ts";
import { secretSource } from "../controllers/sync/secret-source.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { References } from "../vault-client/connection.ts";
import { type ConnectionRef, connectionRefOf } from "../api/connection-key.ts";
import { connectionKinds } from "../api/kinds.ts";
import type { KubeApi } from "../kube/client/kube-api.ts";
import { isKubeError } from "../kube/kube-error.ts";
import { type Check, checksOf } from "./check.ts";

/** The names that resources refer to through one connection. */
export interface NamedReferences extends References {
  /** The references to secrets, each with the owner that it names. */
  readonly items: readonly NamedItem[];
  readonly fileItems: readonly NamedItem[];
}

interface NamedItem {
  readonly source: string;
  readonly owner: string | undefined;
  /** The absence of the source is no error. */
  readonly isOptional?: boolean | undefined;
  /** The resource, as `vaultsecret/name`. */
  readonly user: string;
}

const namesIn = (items: readonly NamedItem[]): Set<string> =>
  new Set(items.map(({ source }) => source));

/** Returns a name with the first of the resources that refer to it. */
export function withUsers(name: string, items: readonly NamedItem[]): string {
  const users = new Set(items.filter(({ source }) => source === name).map(({ user }) => user));
  const [first, ...more] = users;
  return first === undefined
    ? name
    : `${name} (${first}${more.length > 0 ? ` and ${more.length} more` : ""})`;
}

/** Returns the name of a resource; through a connection of the cluster, with its namespace. */
const userOf = ({ kind, metadata }: KubeObject, isOfCluster: boolean): string => {
  const isPlaced = isOfCluster && metadata.namespace !== undefined;
  const namespace = isPlaced ? `${metadata.namespace}/` : "";
  return `${kind.toLowerCase()}/${namespace}${metadata.name}`;
};

/**
 * Returns the names that resources refer to through one connection.
 * @param secrets the resources that read secrets
 * @param files the resources that read files
 */
export function referencesOf(
  connection: KubeObject,
  secrets: readonly KubeObject[],
  files: readonly KubeObject[],
): NamedReferences {
  const { namespace, name } = connection.metadata;
  const itemsOf = (
    source: typeof fileSource,
    objects: readonly KubeObject[],
  ): readonly NamedItem[] =>
    objects
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
      .map((object) => ({ ...source.parse(object), user: userOf(object, namespace === undefined) }))
      .filter(
        ({ ok, resource }) =>
          ok && resource.connection.kind === connection.kind && resource.connection.name === name,
      )
      .flatMap(({ resource, user }) =>
        resource.items.map((item) => ({
          source: item.source,
          owner: item.owner,
          isOptional: item.isOptional,
          user,
        })),
      );
  const items = itemsOf(secretSource(), secrets);
  const fileItems = itemsOf(fileSource, files);
  return { secrets: namesIn(items), files: namesIn(fileItems), items, fileItems };
}

const idOf = ({ kind, name }: ConnectionRef): string => `${kind}/${name}`;

/** Reports whether a connection exists; `unknown` if the user may not read it. @throws KubeError */
async function isPresent(
  api: KubeApi,
  { kind, name }: ConnectionRef,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean | "unknown"> {
  const resource = connectionKinds[kind];
  try {
    await api.getMetadata(resource, { name, ...(resource.namespaced && { namespace }) }, signal);
    return true;
  } catch (error) {
    if (isKubeError(error, "Forbidden")) return "unknown";
    if (isKubeError(error, "NotFound")) return false;
    throw error;
  }
}

/**
 * Reports the resources of a namespace, or with a target in it, whose connection does not exist.
 * @param known the connections that are checked anyway
 * @throws KubeError
 */
export async function* checkReferred(
  { api, namespace }: { readonly api: KubeApi; readonly namespace: string },
  resources: readonly KubeObject[],
  known: readonly KubeObject[],
  signal: AbortSignal,
): AsyncGenerator<Check> {
  const found = new Map<string, boolean | "unknown">(
    known.map(({ kind, metadata: { name } }) => [`${kind}/${name}`, true]),
  );
  for (const object of resources) {
    const ref = connectionRefOf(object["spec"]);
    if (ref === undefined) continue;
    const id = idOf(ref);
    if (!found.has(id)) found.set(id, await isPresent(api, ref, namespace, signal));
    if (found.get(id) !== false) continue;
    const where = connectionKinds[ref.kind].namespaced ? ` in namespace ${namespace}` : "";
    yield checksOf(`${object.kind.toLowerCase()}/${object.metadata.name}`).failed(
      "connection",
      `there is no ${ref.kind} ${ref.name}${where}`,
      "create it, or correct spec.connectionRef",
    );
  }
}
