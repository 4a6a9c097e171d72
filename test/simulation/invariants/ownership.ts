import { isDeepStrictEqual } from "node:util";
import {
  ADOPT_ANNOTATION,
  CONFIRM_REMOVALS_ANNOTATION,
  MANAGED_BY_LABEL,
} from "../../../src/operator/api/names.ts";
import { workloadDescriptor } from "../../../src/operator/controllers/restart/workload.ts";
import {
  CONFIG_MAPS,
  EVENTS,
  type KubeObject,
  LEASES,
  SECRETS,
} from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../lab/simulated/api-server/collection.ts";
import { isCustom } from "../../lab/simulated/api-server/resource-rules.ts";
import { isFanOutOwner } from "../fanned-out.ts";
import { LATE_NAMESPACE, NAMESPACES, SYSTEM_NAMESPACE, Violation } from "../world.ts";
import { otherController } from "../topology-commands.ts";
import { targetOf } from "./spec-items.ts";
import { contentOf, ownerOf, type TargetWrite } from "./target-write.ts";

/**
 * The operator writes nothing but Leases and its key in its own namespace, statuses, events,
 * targets and workloads (I8).
 */
export function checkPlace({ resource, before, after, user }: Change, name: string): void {
  const { metadata } = (after ?? before)!;
  const isOwnNamespace = metadata.namespace === SYSTEM_NAMESPACE;
  const problem = ((): string | undefined => {
    if (resource.kind === LEASES.kind)
      return isOwnNamespace ? undefined : "outside of its own namespace";
    if (resource.kind === EVENTS.kind)
      return (regarded(after) ?? "default") === metadata.namespace
        ? undefined
        : "about an object elsewhere";
    if (resource.group === workloadDescriptor.Deployment.group) return undefined;
    if (isCustom(resource))
      return before && (after ?? isDeletedPush(before))
        ? changedByOther(before, after ?? before)
        : "created or deleted a resource";
    const isTargetKind = resource.kind === SECRETS.kind || resource.kind === CONFIG_MAPS.kind;
    if (!isTargetKind) return "which is never a target";
    // A resource of the cluster may select every namespace, and releases what it leaves there.
    if ([before, after].some((one) => one && isFanOutOwner(ownerOf(one) ?? ""))) return undefined;
    if (isOwnNamespace)
      return before === undefined && metadata.name === "vaultsync-content-key"
        ? undefined
        : "which it only reads";
    return [...NAMESPACES, LATE_NAMESPACE].some((namespace) => namespace === metadata.namespace)
      ? undefined
      : "in another namespace";
  })();
  if (problem !== undefined) throw new Violation("I8", `${user} wrote ${name}: ${problem}`);
}

function regarded(event: KubeObject | undefined): string | undefined {
  return (event?.["regarding"] as { namespace?: string } | undefined)?.namespace;
}

/** Reports whether a VaultPush waits for its entries: without its finalizer it is gone. */
const isDeletedPush = ({ kind, metadata }: KubeObject): boolean =>
  kind === "VaultPush" && metadata.deletionTimestamp !== undefined;

/** Returns what a write changed in a custom resource that belongs to its users. */
function changedByOther(before: KubeObject, after: KubeObject): string | undefined {
  if (!isDeepStrictEqual(before["spec"], after["spec"])) return "changed a spec";
  const { [CONFIRM_REMOVALS_ANNOTATION]: _, ...annotations } = before.metadata.annotations ?? {};
  const isUnchanged = isDeepStrictEqual(before.metadata.annotations, after.metadata.annotations);
  return isUnchanged || isDeepStrictEqual(annotations, after.metadata.annotations ?? {})
    ? undefined
    : "changed annotations";
}

/**
 * A target belonged to the resource before, or is new and has the name that this resource requests
 * in its namespace (I8).
 */
export function checkOwnership({
  history,
  user,
  name,
  namespace,
  before,
  after,
  owner,
}: TargetWrite): void {
  if (before) {
    const other = otherController(before);
    if (other !== undefined)
      throw new Violation(
        "I8",
        `${user} wrote ${name}, which ${other.kind}/${other.name} controls`,
      );
    const { labels = {}, annotations = {} } = before.metadata;
    const isOurs = ownerOf(before) !== undefined || labels[MANAGED_BY_LABEL] === "vaultsync";
    if (!isOurs && annotations[ADOPT_ANNOTATION] === undefined)
      throw new Violation("I8", `${user} wrote ${name}, which is not the operator's`);
    checkAdoption(name, before, after);
    const now = after && ownerOf(after);
    const former = ownerOf(before);
    if (former !== undefined && now !== undefined && former !== now)
      throw new Violation("I8", `${name} was taken over from ${former} by ${now}`);
    return;
  }
  const [kind = "", resource = ""] = owner.split("/");
  const { kind: targetKind, metadata } = after!;
  const isRequested = history.recent(namespace, owner).some((spec) => {
    const target = targetOf(kind, resource, spec);
    return target.kind === targetKind && target.name === metadata.name;
  });
  if (!isRequested)
    throw new Violation(
      "I8",
      `${user} created ${name} for ${owner || "no resource"}, which does not request it`,
    );
}

/**
 * An object that its owner hands over loses no key that the spec does not have, unless a user
 * confirms their number (I21).
 */
function checkAdoption(name: string, before: KubeObject, after: KubeObject | undefined): void {
  const { annotations = {} } = before.metadata;
  if (annotations[ADOPT_ANNOTATION] === undefined || ownerOf(before) !== undefined) return;
  const kept = after ? contentOf(after) : {};
  const lost = Object.keys(contentOf(before)).filter((key) => !(key in kept));
  if (lost.length === 0 || annotations[CONFIRM_REMOVALS_ANNOTATION] === `${lost.length}`) return;
  throw new Violation(
    "I21",
    `${name} lost ${lost.join()} when it was adopted, which no user confirmed`,
  );
}
