import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
} from "../../../src/operator/api/kinds.ts";
import { findRequesting } from "../fanned-out.ts";
import { vaultAt, Violation, type World } from "../world.ts";
import type { ConnectionSpec } from "./spec-history.ts";
import { isOfCluster, itemsOf, type Spec } from "./spec-items.ts";
import type { TargetWrite } from "./target-write.ts";

/** Time for which a replica that was suspended may not know the current specs, in milliseconds. */
const RESUMED_MS = 90_000;

/** Returns the current spec of a resource and the spec of its connection. */
function current(
  { server }: World,
  namespace: string,
  owner: string,
): readonly [Spec, ConnectionSpec] | undefined {
  const spec = findRequesting(server, namespace, owner)?.["spec"] as Spec | undefined;
  const connection =
    spec &&
    (isOfCluster(spec)
      ? server.find(clusterVaultConnectionKind, { name: spec.connectionRef.name })
      : server.find(vaultConnectionKind, { namespace, name: spec.connectionRef.name }));
  return spec && connection && [spec, connection["spec"] as ConnectionSpec];
}

/**
 * Reports whether bytes come from a source that a spec requests for this key, at the vault of its
 * connection.
 */
function fits(
  { vaults }: World,
  [spec, { url }]: readonly [Spec, ConnectionSpec],
  key: string,
  base64: string,
): boolean {
  const items = itemsOf(spec).filter((item) => item.key === key);
  return vaults
    .originsIn(base64)
    .some(
      ({ vault, name }) => vault === vaultAt(url) && items.some(({ source }) => source === name),
    );
}

/**
 * Checks that a key with bytes of the present spec does not get bytes of a former one again,
 * whichever replica works on which of the two connections (I2). While watches lag or are opened
 * again, a replica may not know the present spec; after a user deleted the Lease, two replicas write.
 */
export function checkMove({
  world,
  history,
  user,
  name,
  namespace,
  owner,
  was,
  is,
  writtenAt,
}: TargetWrite): void {
  if (
    world.mayLag ||
    world.mayLackWatches ||
    world.replicas.suspendedAt(user, RESUMED_MS) !== undefined
  )
    return;
  if (world.mayHaveTwoLeaders()) return;
  const now = current(world, namespace, owner);
  // Bytes that were written before are of an earlier spec, even if the present one requests them too.
  if (now === undefined || writtenAt < history.presentSince(namespace, owner, now[0])) return;
  for (const [key, base64] of Object.entries(is)) {
    const before = was[key];
    if (
      before === undefined ||
      before === base64 ||
      !fits(world, now, key, before) ||
      fits(world, now, key, base64)
    )
      continue;
    const known = history
      .recent(namespace, owner)
      .flatMap((spec) =>
        history.recentConnections(namespace, spec).map((connection) => [spec, connection] as const),
      );
    const former = known.findLastIndex((pair) => fits(world, pair, key, base64));
    // A spec that was changed and changed back is followed twice.
    const isRepeated = known
      .slice(0, Math.max(0, former))
      .some((pair) => fits(world, pair, key, before));
    if (former >= 0 && !isRepeated)
      throw new Violation(
        "I2",
        `${name}: key ${key} got bytes of a former spec after those of the present one`,
      );
  }
}
