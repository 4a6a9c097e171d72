import { vaultPushKind } from "../../api/kinds.ts";
import { PUSH_FINALIZER } from "../../api/names.ts";
import type { KubeApi } from "../../kube/client/kube-api.ts";
import type { KubeObject } from "../../kube/resource.ts";

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
