import { findCondition } from "../../../src/operator/api/conditions.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { Violation, type World } from "../world.ts";
import type { Spec } from "./spec-items.ts";

interface Status {
  readonly conditions?: [];
  readonly target?: {
    readonly kind: string;
    readonly name: string;
    readonly resourceVersion?: string;
  };
}

const statusOf = (object: KubeObject | undefined): Status => object?.["status"] ?? {};

const isConverged = (object: KubeObject | undefined): boolean =>
  findCondition(statusOf(object).conditions, "Converged")?.status === "True";

/**
 * Converged becomes True only when no pod runs other bytes than the target has had since the write
 * that the status reports (I26). An object that keys are merged into has bytes of other writers too.
 */
export function checkConverged(
  world: World,
  name: string,
  before: KubeObject | undefined,
  after: KubeObject,
): void {
  if (!isConverged(after) || isConverged(before)) return;
  const { target } = statusOf(after);
  const { creationPolicy } = (after["spec"] as Spec).target ?? {};
  if (target === undefined || creationPolicy === "Merge") return;
  const { namespace = "" } = after.metadata;
  const since = Number(target.resourceVersion ?? 0);
  const [pod] = world.pods.outdated(namespace, target.kind, target.name, since);
  if (pod !== undefined)
    throw new Violation("I26", `${name} is Converged, but the pod ${pod} runs older content`);
}
