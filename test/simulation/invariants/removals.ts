import { urlOf, VAULTS, Violation, type World } from "../world.ts";
import { type ConnectionSpec, type Item, itemsOf, type Spec, targetOf } from "./spec-history.ts";
import { membersOf } from "../simulated-vaults.ts";
import type { TargetWrite } from "./target-write.ts";

/** Time for which a name must be absent from the vault before its key is removed: two of the shortest intervals, less 10 % each. */
const PROOF_MS = 9_000;

/** No key that a resource requests is removed, unless its source is gone in the way that its policy requires (I1, I6). */
export function checkRemovals({ world, history, name, namespace, before, after, owner, was, is }: TargetWrite): void {
  if (!before) return;
  const [kind = "", resourceName = ""] = owner.split("/");
  const descriptor = world.server.collections.find(({ resource }) => resource.kind === kind)?.resource;
  const object = descriptor && world.server.find(descriptor, { namespace, name: resourceName });
  // The operator may not know yet that a resource was deleted.
  const recent = history.recent(namespace, owner);
  const spec = (object?.["spec"] as Spec | undefined) ?? recent.at(-1);
  if (!spec) {
    if (!after) throw new Violation("I6", `${name} was removed although ${owner} does not exist: only Kubernetes may do that`);
    return;
  }
  const specs = [spec, ...recent];
  const targets = specs.map((each) => targetOf(kind, resourceName, each));
  if (targets.some((target) => target.name !== before.metadata.name || target.kind !== before.kind)) return;
  for (const item of itemsOf(spec)) {
    const { key, source } = item;
    const origin = world.vaults.origin(was[key] ?? "");
    if (!origin || key in is || origin.name !== source) continue;
    if (item.absence === "member" && !isMember(world, item, is)) continue;
    if (specs.some((each) => !itemsOf(each).some((other) => other.key === key && other.source === source))) continue;
    // The operator may not know the last specs yet.
    const known = specs.flatMap((each) =>
      history.recentConnections(namespace, each).map((connection) => ({ spec: each, connection })),
    );
    if (known.length === 0 || known.some((each) => isGone(world, kind, item, each.spec, each.connection))) continue;
    const urls = new Set(known.map(({ connection }) => connection.url));
    throw new Violation("I1", `${name}: key ${key} was removed although ${[...urls].join(" and ")} did not remove ${source}`);
  }
}

/** Reports whether the version of an object that a target has now has this member. */
function isMember({ vaults }: World, { key, source }: Item, is: TargetWrite["is"]): boolean {
  return vaults.origin(is[membersOf(source).always] ?? "")?.members.has(key) ?? true;
}

/** Reports whether the vault has removed an entry at its deadline or, as far as the policy counts it, at all. */
function isGone(world: World, kind: string, item: Item, spec: Spec, { url, email, scope }: ConnectionSpec): boolean {
  const { vaults, clock } = world;
  const { owner: from } = itemsOf(spec).find((each) => each.key === item.key && each.source === item.source) ?? item;
  const vault = VAULTS.find((each) => urlOf(each) === url)!;
  if (vaults.deadlinesOf(vault, item.source).some((deadline) => deadline <= clock.now() + world.greatestSkewMs)) return true;
  const isOptional = itemsOf(spec).some((each) => each.key === item.key && each.absence === "optional");
  if (spec.target?.whenMissing !== "Delete" && !isOptional) return false;
  if (scope && !("onlyReferenced" in scope)) return true;
  const isListed =
    kind === "VaultFile"
      ? vaults.files(vault, email).some(({ filename }) => filename === item.source)
      : vaults.list(vault, email).some(({ key_name, owner }) => key_name === item.source && (from ?? owner) === owner);
  // Until shortly before it may have been missing.
  return !isListed || clock.monotonic() - vaults.changedAt(vault, item.source) < PROOF_MS;
}
