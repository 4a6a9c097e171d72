import { vaultFileKind } from "../api/kinds.ts";
import { isKubeError } from "../kube/kube-error.ts";
import type { KubeObject } from "../kube/resource.ts";
import { parseFile } from "../sync/parse-file.ts";
import { parseSecret } from "../sync/parse-secret.ts";
import { readStatus, type SyncStatus } from "../sync/stored-status.ts";
import type { SyncResource } from "../sync/sync-resource.ts";
import type { Cluster } from "./cluster.ts";
import { idOf, type ResourceName } from "./resource-name.ts";
import { type ItemState, resourceState } from "./status/resource-state.ts";

/** Reads a resource. @throws Error if it does not exist; KubeError */
export async function readResource(
  { api, namespace }: Cluster,
  name: ResourceName,
  signal: AbortSignal,
): Promise<KubeObject> {
  try {
    return await api.get(name.kind, { namespace, name: name.name }, signal);
  } catch (error) {
    throw isKubeError(error, "NotFound")
      ? new Error(`no ${idOf(name)} in namespace ${namespace}`)
      : error;
  }
}

/** Returns the parsed spec of a VaultSecret or VaultFile. */
export const parsedResource = ({ kind }: ResourceName, object: KubeObject): SyncResource =>
  (kind === vaultFileKind ? parseFile : parseSecret)(object).resource;

/** Returns the parsed status of a VaultSecret or VaultFile. */
export const statusOf = ({ kind }: ResourceName, { status }: KubeObject): SyncStatus =>
  readStatus(kind === vaultFileKind ? "VaultFile" : "VaultSecret", status);

/**
 * Returns the items of a status that follow the latest version: other ones are pinned by the spec,
 * or have the version below.
 */
export function followingItems(object: KubeObject, { items }: SyncResource): ItemState[] {
  const pinned = new Set(items.flatMap(({ id, version }) => (version === "latest" ? [] : [id])));
  return resourceState(object).items.filter(({ key }) => !pinned.has(key));
}
