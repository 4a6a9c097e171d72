import { vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { urlOf, VAULTS, Violation, type World } from "../world.ts";
import { type Item, itemsOf, type Spec, targetOf } from "./spec-history.ts";
import type { TargetWrite } from "./target-write.ts";

/** Time for which a name must be absent from the vault before its key is removed: two of the shortest intervals, less 10 % each. */
const PROOF_MS = 9_000;
/** Greatest error of the wall clock of a replica, in milliseconds. */
const MAX_SKEW_MS = 3_600_000;

/** No key that a resource requests is removed, unless its source is gone in the way that its policy requires (I1, I6). */
export function checkRemovals({ world, history, name, namespace, before, after, owner, was, is }: TargetWrite): void {
  if (!before) return;
  const [kind = "", resourceName = ""] = owner.split("/");
  const descriptor = world.server.collections.find(({ resource }) => resource.kind === kind)?.resource;
  const object = descriptor && world.server.find(descriptor, { namespace, name: resourceName });
  if (!object) {
    if (!after) throw new Violation("I6", `${name} was removed although ${owner} does not exist: only Kubernetes may do that`);
    return;
  }
  const spec = object["spec"] as Spec;
  const specs = [spec, ...history.recent(namespace, owner)];
  const targets = specs.map((each) => targetOf(kind, resourceName, each));
  if (targets.some((target) => target.name !== before.metadata.name || target.kind !== before.kind)) return;
  for (const item of itemsOf(spec)) {
    const { key, source } = item;
    const origin = world.vaults.origin(was[key] ?? "");
    if (!origin || key in is || origin.name !== source) continue;
    if (specs.some((each) => !itemsOf(each).some((other) => other.key === key && other.source === source))) continue;
    // The operator may not know yet that another vault is in use, or that names are deleted.
    const isKnown = history.isSettled(namespace);
    if (!isKnown && (world.vaults.hasDeadline(source) || spec.target?.whenMissing === "Delete")) continue;
    const connection = connectionOf(world, object);
    if (!connection || isGone(world, kind, item, spec, connection)) continue;
    throw new Violation("I1", `${name}: key ${key} was removed although ${connection.url} did not remove ${source}`);
  }
}

interface ConnectionSpec {
  readonly url: string;
  readonly email: string;
  readonly scope?: object;
}

function connectionOf(world: World, { metadata: { namespace }, spec }: KubeObject): ConnectionSpec | undefined {
  const { name } = (spec as Spec).connectionRef;
  return world.server.find(vaultConnectionKind, { namespace, name })?.["spec"] as ConnectionSpec | undefined;
}

/** Reports whether the vault has removed an entry at its deadline or, as far as the policy counts it, at all. */
function isGone(world: World, kind: string, item: Item, { target }: Spec, { url, email, scope }: ConnectionSpec): boolean {
  const { vaults, clock } = world;
  const vault = VAULTS.find((each) => urlOf(each) === url)!;
  if (vaults.deadlinesOf(vault, item.source).some((deadline) => deadline <= clock.now() + MAX_SKEW_MS)) return true;
  if (target?.whenMissing !== "Delete") return false;
  if (scope && !("onlyReferenced" in scope)) return true;
  const isListed =
    kind === "VaultFile"
      ? vaults.files(vault, email).some(({ filename }) => filename === item.source)
      : vaults.list(vault, email).some(({ key_name, owner }) => key_name === item.source && (item.owner ?? owner) === owner);
  // Until shortly before it may have been missing.
  return !isListed || clock.monotonic() - vaults.changedAt(vault, item.source) < PROOF_MS;
}
