import type { KubeApi } from "../kube/client/kube-api.ts";
import { isKubeError } from "../kube/kube-error.ts";
import type { KubeObject, ObjectRef } from "../kube/resource.ts";
import type { Kind } from "../api/kinds.ts";

type Annotations = Readonly<Record<string, string>>;
/** Annotations to set; `null` removes one. */
export type AnnotationChanges = Readonly<Record<string, string | null>>;

/**
 * Changes annotations of a resource, and keeps concurrent changes of it.
 * @param next returns the changes, for the annotations that the resource has
 * @throws KubeError
 */
export async function annotate(
  api: KubeApi,
  kind: Kind,
  ref: ObjectRef,
  next: (current: Annotations) => AnnotationChanges,
  signal: AbortSignal,
): Promise<KubeObject> {
  for (;;) {
    const {
      uid,
      resourceVersion,
      annotations = {},
    } = (await api.getMetadata(kind, ref, signal)).metadata;
    const patch = { metadata: { annotations: next(annotations) } };
    try {
      return await api.patch(kind, { ...ref, uid, resourceVersion }, patch, signal);
    } catch (error) {
      if (!isKubeError(error, "Conflict")) throw error;
    }
  }
}
