import { findCondition } from "../../../src/operator/api/conditions.ts";
import { vaultConnectionKind } from "../../../src/operator/api/kinds.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { targetObject } from "../expectations.ts";
import { isServed, isTypeAllowed } from "../reach.ts";
import type { Origin } from "../simulated-vaults.ts";
import { Violation, VAULTS, urlOf, type World } from "../world.ts";
import type { ConnectionSpec } from "./spec-history.ts";
import { isTrustedOwner } from "./removals.ts";
import { isOfCluster, type Item, outputsOf, type Spec } from "./spec-items.ts";
import { contentOf, mergedInto, ownerOf } from "./target-write.ts";

/**
 * Time after a deadline within which its bytes leave: an interval, and the time of a request and a
 * write.
 */
const LEAVE_MS = 150_000;
/** Time before a deadline for which the operator has to list the entry. */
const LISTED_MS = 110_000;
/** Time after which an entry that is gone is proven to be: lists of all connections and a write. */
const PROVEN_MS = 360_000;

/**
 * The bytes of an entry leave every target, under any key, when the vault has removed it at its
 * deadline or, with `whenMissing: Delete`, their key at any other time, unless its policy keeps them
 * (I19). It does not matter what the target is made of, or that a stranger has an entry of the
 * name. Judges only what happens while nothing is disturbed.
 */
export function checkExpiries(world: World): void {
  const { clock, quietSince } = world;
  if (clock.monotonic() - quietSince < LEAVE_MS) return;
  for (const resource of world.resources) {
    const spec = resource["spec"] as Spec;
    if (!isServed(world, resource) || !isTypeAllowed(world, spec)) continue;
    const { immutable = false } = spec.target ?? {};
    const target = targetObject(world, resource);
    const listed = listedVault(world, resource, spec);
    if (!target || !listed || immutable || target["immutable"] === true || spec.suspend) continue;
    if (isUnverified(resource, target)) continue;
    const content = ownContent(resource, target);
    const shown = shownOwners(resource);
    const followed = outputsOf(spec).flatMap(({ key, items }) =>
      items.filter(({ version }) => version === "latest").map((item) => ({ key, item })),
    );
    for (const [key, value] of Object.entries(content)) {
      const mustGo = (origin: Origin): boolean =>
        followed.some(
          (one) =>
            isSourceOf(one.item, origin) &&
            (isRemoved(world, listed, spec, one.item, origin) ||
              (one.key === key &&
                (shown.get(key) ?? origin.owner) === origin.owner &&
                isMissing(world, listed, spec, one.item, origin))),
        );
      const expired = world.vaults.origins.meaning(
        followed.map(({ item }) => item.source),
        () => world.vaults.originsIn(value).find(mustGo),
      );
      if (!expired) continue;
      const owner = `${resource.kind} ${resource.metadata.namespace}/${resource.metadata.name}`;
      throw new Violation(
        "I19",
        `${owner} keeps ${expired.name} under ${key}, which the vault does not have any more`,
      );
    }
  }
}

/**
 * Reports whether others changed a target that cannot be written again, because sources are gone, or
 * took it away: all of it is kept.
 */
function isUnverified(resource: KubeObject, { metadata }: KubeObject): boolean {
  const { conditions, target } = (resource["status"] ?? {}) as {
    readonly conditions?: [];
    readonly target?: { readonly resourceVersion?: string };
  };
  const reason = findCondition(conditions, "Ready")?.reason;
  if (reason === "TargetConflict") return true;
  const isGone = reason === "SourceMissing" || reason === "SourceRemoved";
  return isGone && target?.resourceVersion !== metadata.resourceVersion;
}

/**
 * Returns the owners of bytes of another account of the vault, by key, as the status names them. If
 * writing it failed, it is an earlier one; an entry of that one keeps the bytes.
 */
function shownOwners(resource: KubeObject): ReadonlyMap<string, string> {
  const { items = [] } = (resource["status"] ?? {}) as {
    readonly items?: readonly {
      readonly secretKey?: string;
      readonly owner?: string;
      readonly otherVault?: boolean;
    }[];
  };
  return new Map(
    items.flatMap(({ secretKey, owner, otherVault }) =>
      secretKey !== undefined && owner !== undefined && otherVault === true
        ? [[secretKey, owner] as const]
        : [],
    ),
  );
}

/** A vault, and the connection that lists it. */
interface Listed {
  readonly vault: string;
  readonly connection: ConnectionSpec;
}

/** Returns the connection and the vault that a resource follows reliably. */
function listedVault(
  world: World,
  { metadata: { namespace } }: KubeObject,
  spec: Spec,
): Listed | undefined {
  const connection = isOfCluster(spec)
    ? undefined
    : world.server.find(vaultConnectionKind, { namespace, name: spec.connectionRef.name });
  const { conditions } = (connection?.["status"] ?? {}) as { conditions?: [] };
  const isListed =
    findCondition(conditions, "Ready")?.status === "True" &&
    !findCondition(conditions, "RemovalsHeld");
  const { url, scope } = (connection?.["spec"] ?? {}) as ConnectionSpec;
  const vault = VAULTS.find((name) => urlOf(name) === url);
  if (!isListed || vault === undefined || scope) return undefined;
  return { vault, connection: connection?.["spec"] as ConnectionSpec };
}

/** Returns the keys of an object that a resource owns or has merged into it. */
function ownContent(
  { kind, metadata: { name }, spec }: KubeObject,
  target: KubeObject,
): Readonly<Record<string, string>> {
  const owner = `${kind}/${name}`;
  const merged = mergedInto(target).get(owner);
  if (!merged) return ownerOf(target) === owner ? contentOf(target) : {};
  // A resource that does not merge any more does not touch the object (TargetConflict).
  if ((spec as Spec).target?.creationPolicy !== "Merge") return {};
  return Object.fromEntries(
    Object.entries(contentOf(target)).filter(([key]) => merged.keys.includes(key)),
  );
}

/**
 * Reports whether an item requests the secret that bytes are of. Under a key whose spec names
 * another owner now, the bytes of the former source are kept until there is something in their
 * place, as under a key whose spec names another secret.
 */
const isSourceOf = ({ source, owner }: Item, origin: Origin): boolean =>
  source === origin.name && (owner ?? origin.owner) === origin.owner;

/** Reports whether the list has the secret that bytes are of, or one in its place. */
function hasEntry(
  { vaults }: World,
  { vault, connection }: Listed,
  item: Item,
  { name, owner }: Origin,
): boolean {
  // Another trusted owner's secret of the name does not replace it, and what was trusted once stays
  // while it is there. A stranger's changes nothing.
  return vaults
    .list(vault, connection.email)
    .some(
      (entry) =>
        entry.key_name === name &&
        (entry.owner === owner || isTrustedOwner(connection, item, entry.owner)),
    );
}

/** Reports whether bytes have to leave their key because their secret is proven to be missing. */
function isMissing(
  world: World,
  listed: Listed,
  { target: { whenMissing = "Retain" } = {} }: Spec,
  item: Item,
  origin: Origin,
): boolean {
  const { vault } = listed;
  const { name, owner } = origin;
  const { vaults, clock, quietSince } = world;
  const isProven =
    clock.monotonic() - Math.max(vaults.changedAt(vault, name), quietSince) >= PROVEN_MS;
  return (
    whenMissing === "Delete" &&
    isProven &&
    isOf(vault, origin) &&
    !hasEntry(world, listed, item, origin) &&
    vaults.deadlinesOf(vault, name, owner).length === 0
  );
}

/** Reports whether bytes have to leave any key because their secret reached its deadline. */
function isRemoved(
  world: World,
  listed: Listed,
  { target: { whenRemoved = "Delete" } = {} }: Spec,
  item: Item,
  origin: Origin,
): boolean {
  const { vaults, clock, quietSince } = world;
  const { vault } = listed;
  const { name, owner, at } = origin;
  if (whenRemoved === "Retain" || !isOf(vault, origin) || hasEntry(world, listed, item, origin))
    return false;
  if (vaults.irregular.has(`${vault} ${owner} ${name}`)) return false;
  const changedAt = Math.max(vaults.changedAt(vault, name), quietSince);
  // On the monotonic clock.
  const ages = vaults
    .deadlinesOf(vault, name, owner)
    .map((deadline) => deadline - clock.now() + clock.monotonic());
  return ages.some((deadline) => {
    const isFollowed = deadline - changedAt >= LISTED_MS;
    return isFollowed && at < deadline && clock.monotonic() - deadline >= LEAVE_MS;
  });
}

const isOf = (vault: string, origin: Origin): boolean =>
  origin.vault === vault && origin.kind === "secret";
