import { findCondition } from "../../src/operator/api/conditions.ts";
import { clusterVaultConnectionKind, vaultConnectionKind } from "../../src/operator/api/kinds.ts";
import { MANAGED_BY, MANAGED_BY_LABEL } from "../../src/operator/api/names.ts";
import { isReason, isStalled } from "../../src/operator/api/reasons.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../src/operator/kube/resource.ts";
import { belongsTo } from "./expectations.ts";
import { findOwner, isFanOut } from "./fanned-out.ts";
import { type Spec, targetOf } from "./invariants/spec-items.ts";
import { mergedInto } from "./invariants/target-write.ts";
import { isServed } from "./reach.ts";
import { Violation, type World } from "./world.ts";

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: [];
  readonly target?: { readonly digest?: string };
}

const statusOf = ({ status = {} }: KubeObject): Status => status as Status;

/** Reports whether a resource waits for what others may still create, without a target so far. */
export function awaitsFirstTarget(object: KubeObject): boolean {
  const { conditions, target } = statusOf(object);
  const ready = findCondition(conditions, "Ready");
  if (target?.digest !== undefined || ready?.status !== "False") return false;
  return isReason(ready.reason) && !isStalled(ready.reason);
}

const isStalledNow = (object: KubeObject): boolean =>
  findCondition(statusOf(object).conditions, "Stalled") !== undefined;

/**
 * Returns the resources that wait like this and are not Stalled yet, according to their statuses.
 * Without a watch of targets, that is all that a process knows of one whose connection is gone.
 */
const waitingByStatus = ({ resources }: World): readonly KubeObject[] =>
  resources.filter((object) => awaitsFirstTarget(object) && !isStalledNow(object));

/**
 * Returns the ones that have no target. A status that another party removed says nothing of a
 * target, or a former one, that is there.
 */
const waiting = (world: World): readonly KubeObject[] =>
  waitingByStatus(world).filter((object) => {
    const { namespace, name } = object.metadata;
    const current = targetOf(object.kind, name, object["spec"] as Spec);
    const isCurrent = ({ kind, metadata }: KubeObject): boolean =>
      kind === current.kind && metadata.name === current.name;
    const hasKeys = (target: KubeObject): boolean =>
      (isCurrent(target) && mergedInto(target).has(`${object.kind}/${name}`)) ||
      // Without its label, no watch shows a target.
      (target.metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY && belongsTo(object, target));
    return ![...world.server.all(SECRETS), ...world.server.all(CONFIG_MAPS)].some(
      (target) => target.metadata.namespace === namespace && hasKeys(target),
    );
  });

/** Returns the resources that may become Stalled, as the operator knows their targets. */
export const mayBecomeStalled = (world: World): readonly KubeObject[] =>
  world.replicas.config.targetWatch === "on" ? waiting(world) : waitingByStatus(world);

/** Returns the connections that wait for their credentials and are not Stalled yet. */
export const lackingCredentials = ({ server }: World): readonly KubeObject[] =>
  [...server.all(vaultConnectionKind), ...server.all(clusterVaultConnectionKind)].filter(
    (object) => {
      const { conditions } = statusOf(object);
      const { reason } = findCondition(conditions, "Ready") ?? {};
      return reason === "CredentialsMissing" && !isStalledNow(object);
    },
  );

/** Reports whether any namespace of a resource is Stalled. */
const isAnyStalled = ({ server }: World, owner: string): boolean => {
  const object = findOwner(server, undefined, owner);
  return object !== undefined && isStalledNow(object);
};

/**
 * After a time in which nothing changed, longer than five minutes, each resource that never had a
 * target is Stalled (I25). A namespace that is not served is not reported about.
 * @param hadTarget reports whether the operator ever wrote a target in a namespace for an owner: the
 * status of a resource for several namespaces does not say so
 */
export function checkFirstTargets(
  world: World,
  hadTarget: (namespace: string, owner: string) => boolean,
): void {
  for (const object of waiting(world)) {
    const { namespace = "", name, generation } = object.metadata;
    const owner = `${object.kind}/${name}`;
    const isExcused = hadTarget(namespace, owner) || isAnyStalled(world, owner);
    if (isFanOut(object.kind) && isExcused) continue;
    const isSeen = statusOf(object).observedGeneration === generation;
    if (isSeen && isServed(world, object))
      throw new Violation("I25", `${object.kind} ${namespace}/${name} waits without being Stalled`);
  }
}
