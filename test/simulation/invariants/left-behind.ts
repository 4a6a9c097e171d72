import { MANAGED_BY, MANAGED_BY_LABEL } from "../../../src/operator/api/names.ts";
import { findCondition } from "../../../src/operator/api/conditions.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import type { World } from "../world.ts";
import { type Spec, targetOf } from "./spec-items.ts";

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: [];
}

/**
 * Returns an object whose controller is a resource that is in sync and has another target, or must
 * not be its controller: it would keep old bytes, or be deleted with the resource (I16, I17).
 * `undefined` if there is none. Without a watch of Secrets, one that was written under a name whose
 * change was not seen yet stays: docs/operator.md says so.
 */
export function leftBehind(
  { server, replicas }: World,
  resources: readonly KubeObject[],
): string | undefined {
  const secrets = replicas.config.targetWatch === "off" ? [] : server.all(SECRETS);
  for (const object of [...secrets, ...server.all(CONFIG_MAPS)]) {
    const { namespace, name, ownerReferences = [] } = object.metadata;
    const uids = ownerReferences.map(({ uid }) => uid);
    const resource = resources.find(
      ({ metadata }) =>
        metadata.uid !== undefined &&
        uids.includes(metadata.uid) &&
        metadata.namespace === namespace,
    );
    // Without its label, no watch shows an object.
    if (!resource || object.metadata.labels?.[MANAGED_BY_LABEL] !== MANAGED_BY) continue;
    const status = (resource["status"] ?? {}) as Status;
    const isReady = findCondition(status.conditions, "Ready")?.status === "True";
    if (!isReady || status.observedGeneration !== resource.metadata.generation) continue;
    const spec = resource["spec"] as Spec;
    const target = targetOf(resource.kind, resource.metadata.name, spec);
    const what = `${object.kind} ${namespace}/${name}`;
    const owner = `${resource.kind} ${resource.metadata.name}`;
    const isFormer = target.kind !== object.kind || target.name !== name;
    const requested = server.find(target.kind === "Secret" ? SECRETS : CONFIG_MAPS, {
      namespace,
      name: target.name,
    });
    // Without a key to write, the new target does not exist.
    if (isFormer && !requested) continue;
    if (isFormer) return `${what} was left behind by ${owner}, which names another target`;
    const { creationPolicy = "Owner" } = spec.target ?? {};
    if (creationPolicy !== "Owner")
      return `${what} would be deleted with ${owner}, despite creationPolicy ${creationPolicy}`;
  }
  return undefined;
}
