import { FORCE_SYNC_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../lab/simulated/api-server/collection.ts";
import { resolve } from "../resolved-items.ts";
import { Violation, type World } from "../world.ts";
import type { KnownSpecs } from "./spec-history.ts";
import { isOfCluster, itemsOf, hasGate, specOf } from "./spec-items.ts";
import { versionOf } from "./target-write.ts";
import { findCondition } from "../../../src/operator/api/conditions.ts";
import { vaultFileKind, vaultSecretKind } from "../../../src/operator/api/kinds.ts";
import { fanOutKinds } from "../fanned-out.ts";
import { isServed } from "../reach.ts";

/**
 * Time after a fault that serves old lists in which a list may be old, and in which two leaders may
 * echo each other's lists.
 */
const UNSURE_MS = 90_000;

interface Status {
  readonly observedGeneration?: number;
  readonly lastForceSync?: string;
  readonly items?: readonly {
    readonly secretKey?: string;
    readonly key?: string;
    readonly version?: number;
  }[];
  readonly itemsOmitted?: number;
}

/** The forced syncs that users requested. */
export class ForcedSyncs {
  readonly #world: World;
  /**
   * The text of each request, and the number of values that were written before, by the uid of the
   * resource.
   */
  readonly #requests = new Map<
    string,
    { readonly text: string; readonly order: number; readonly generation: number }
  >();

  constructor(world: World) {
    this.#world = world;
  }

  /** Takes in a change of any object. */
  remember({ before, after }: Change): void {
    const text = after?.metadata.annotations?.[FORCE_SYNC_ANNOTATION];
    if (
      !after ||
      text === undefined ||
      before?.metadata.annotations?.[FORCE_SYNC_ANNOTATION] === text
    )
      return;
    const { uid = "", generation = 0 } = after.metadata;
    this.#requests.set(uid, { text, order: this.#world.vaults.written, generation });
  }

  /**
   * A status that echoes a request while the resource is in sync has everything that the vault had
   * at the request (I18). A replica may still list the vault of a connection that was edited.
   */
  check(
    name: string,
    before: KubeObject | undefined,
    after: KubeObject,
    history: KnownSpecs,
  ): void {
    const status = (after["status"] ?? {}) as Status;
    const { namespace, uid = "", generation } = after.metadata;
    const request = this.#requests.get(uid);
    const isEcho = request && status.lastForceSync === request.text;
    if (!isEcho || ((before?.["status"] ?? {}) as Status).lastForceSync === request.text) return;
    if (
      status.observedGeneration !== generation ||
      request.generation !== generation ||
      !this.#isSure() ||
      this.#world.freezes.mayHold(namespace ?? "", UNSURE_MS)
    )
      return;
    const spec = specOf(after);
    if (hasGate(spec)) return;
    const [connection, ...edited] = history.recentConnections(namespace, spec);
    if (isOfCluster(spec) || !connection || edited.length > 0 || connection.scope) return;
    for (const item of itemsOf(spec)) {
      if (item.absence !== "never" || item.version !== "latest" || item.isHeld === true) continue;
      const { base64 = "", irregular } = resolve(this.#world, connection, after.kind, item);
      const latest = this.#world.vaults.origin(base64);
      const shown = status.items?.find((each) => (each.secretKey ?? each.key) === item.id);
      if (shown === undefined && status.itemsOmitted !== undefined) continue;
      const { version = 0 } = shown ?? {};
      if (irregular || !latest || latest.order > request.order || version >= versionOf(latest))
        continue;
      const served = `version ${version} of ${item.source}, although the vault had ${versionOf(latest)} before the request`;
      throw new Violation("I18", `${name} is ready after a forced sync with ${served}`);
    }
  }

  /** Reports whether no vault shows an old list, and there is one leader. */
  #isSure(): boolean {
    const { faults, clock, leaseDeletedAt } = this.#world;
    const times = [leaseDeletedAt, ...faults.vaultEndedAt.values()];
    return (
      faults.vault.values().every(({ fault }) => fault !== "old-list") &&
      times.every((at) => clock.monotonic() - at > UNSURE_MS)
    );
  }
}

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
