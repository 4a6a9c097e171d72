import { findCondition } from "../../src/operator/api/conditions.ts";
import { vaultFileKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../../src/operator/api/names.ts";
import type { KubeObject } from "../../src/operator/kube/resource.ts";
import { fanOutKinds } from "./fanned-out.ts";
import { isServed } from "./reach.ts";
import { Violation, type World } from "./world.ts";

/**
 * Time in ms within which a forced sync is echoed if nothing disturbs it: less than a list may take
 * before it counts as failed.
 */
const LIMIT_MS = 9_000;
const REQUEST = "at rest";

const conditionOf = ({ status = {} }: KubeObject, type: "Ready" | "Stale") =>
  findCondition((status as { conditions?: [] }).conditions, type);
const isSynced = (object: KubeObject): boolean =>
  conditionOf(object, "Ready")?.reason === "Synced" && conditionOf(object, "Stale") === undefined;

/**
 * Forces a sync of each ready resource of a quiet operator, and throws a `Violation` unless it
 * stays ready (I13).
 */
export async function checkForcedSyncs(world: World): Promise<void> {
  const { server, clock, vaults } = world;
  if (world.mayLag) return;
  world.quietSince = Infinity;
  const start = clock.now();
  const kinds = [vaultSecretKind, vaultFileKind, ...Object.values(fanOutKinds)];
  const forced = kinds.flatMap((kind) =>
    server
      .all(kind)
      .filter((object) => isServed(world, object) && isSynced(object))
      .map(({ metadata: { namespace, name } }) => ({ kind, ref: { namespace, name } })),
  );
  const metadata = { annotations: { [FORCE_SYNC_ANNOTATION]: REQUEST } };
  for (const { kind, ref } of forced) server.patch(kind, ref, { metadata });
  await world.advance(LIMIT_MS);
  if (vaults.hasDeadlineBetween(start - 60_000, clock.now())) return;
  for (const { kind, ref } of forced) {
    const object = server.get(kind, ref);
    const { lastForceSync } = object["status"] as { lastForceSync?: string };
    const { status, reason, message } = conditionOf(object, "Ready") ?? {};
    // No watch shows an object of another owner: a resource without a key finds it only now.
    const isReady = status === "True" || reason === "TargetConflict";
    if (isReady && lastForceSync === REQUEST) continue;
    const seen = `echo ${lastForceSync}, Ready=${status} ${reason}: ${message}`;
    throw new Violation(
      "I13",
      `${kind.kind} ${ref.namespace}/${ref.name} after a forced sync at rest: ${seen}`,
    );
  }
}
