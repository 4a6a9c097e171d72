import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
  vaultFileKind,
  vaultSecretKind,
} from "../../src/operator/api/kinds.ts";
import { SOURCES_ANNOTATION } from "../../src/operator/api/names.ts";
import { CONFIG_MAPS, type ResourceDescriptor, SECRETS } from "../../src/operator/kube/resource.ts";
import { seededRandom } from "../lab/seeded-random.ts";
import { NAMESPACES } from "./cast.ts";
import { fanOutKinds } from "./fanned-out.ts";
import type { Command } from "./commands.ts";
import type { World } from "./world.ts";

/** Whose statuses another party removes together. */
const wipedKinds = ["resources", "connections", "all"] as const;

/**
 * Another party removes statuses of a namespace, and of the cluster: a GitOps tool that applies whole
 * objects, or a backup that was restored without statuses.
 */
export interface WipeCommand {
  readonly type: "wipe-statuses";
  readonly namespace: string;
  readonly of: (typeof wipedKinds)[number];
}

/** Shares of the episodes with removed statuses, and of the commands that a removal follows. */
const SHARES = { episodes: 0.3, commands: 0.03 };
/** Share of the removals that a restart of all replicas follows. */
const RESTARTS = 0.4;

const resourceKinds = [vaultSecretKind, vaultFileKind, ...Object.values(fanOutKinds)];
const descriptors: Readonly<Record<WipeCommand["of"], readonly ResourceDescriptor[]>> = {
  resources: resourceKinds,
  connections: [vaultConnectionKind, clusterVaultConnectionKind],
  all: [...resourceKinds, vaultConnectionKind, clusterVaultConnectionKind],
};

/** Removes the statuses. */
export function wipeStatuses(world: World, { namespace, of }: WipeCommand): void {
  const { server, unknownTargets } = world;
  world.onWipe(namespace);
  if (of !== "connections")
    for (const { metadata } of [...server.all(SECRETS), ...server.all(CONFIG_MAPS)])
      if (metadata.namespace === namespace && !metadata.annotations?.[SOURCES_ANNOTATION])
        unknownTargets.add(metadata.uid ?? "");
  for (const kind of descriptors[of])
    for (const { metadata } of server.all(kind))
      if ((metadata.namespace ?? namespace) === namespace) server.replaceStatus(kind, metadata, {});
}

/**
 * Returns the commands with statuses that are removed, in some episodes: the commands of all others
 * are unchanged.
 */
export function withWipedStatuses(commands: readonly Command[], seed: number): Command[] {
  const random = seededRandom(seed ^ 0x57a7);
  if (random() >= SHARES.episodes) return [...commands];
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
  const wiped = (): Command[] => [
    ...(random() < RESTARTS ? [0, 1] : []).map((replica): Command => ({ type: "crash", replica })),
    { type: "wipe-statuses", namespace: pick(NAMESPACES), of: pick(wipedKinds) },
    ...[0, 1].map((replica): Command => ({ type: "start", replica })),
  ];
  return commands
    .flatMap((command) => (random() < SHARES.commands ? [command, ...wiped()] : [command]))
    .slice(0, commands.length);
}
