import {
  clusterVaultConnectionKind,
  vaultConnectionKind,
} from "../../../src/operator/api/kinds.ts";
import { CONFIRM_REMOVALS_ANNOTATION } from "../../../src/operator/api/names.ts";
import { connectionKey, type ConnectionRef } from "../../../src/operator/api/connection-key.ts";
import { shardOf } from "../../../src/operator/shards/shard-of.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { belongsTo, targetObject } from "../expectations.ts";
import type { Origin, Vanished } from "../simulated-vaults.ts";
import { urlOf, Violation, type World } from "../world.ts";
import type { ConnectionSpec } from "./spec-history.ts";
import { isOfCluster, itemsOf, type Spec } from "./spec-items.ts";
import { heldRemovals } from "./confirmations.ts";
import { contentOf, mergedInto, type TargetWrite } from "./target-write.ts";

/** Names or targets that may disappear together: this share, or fewer than this number. */
const MAX_SHARE = 0.2;
const MIN_HELD = 5;

/**
 * Time after the first deletion of VaultPushes within which others are one loss with it, in
 * milliseconds: an absence is proven after two intervals at the earliest, and later ones count
 * alone.
 */
const TOGETHER_MS = 5_000;

/** Many secrets of a vault that disappeared together. */
interface Loss {
  readonly vault: string;
  readonly shard: number;
  /** Time of the first deletion, if VaultPushes deleted them. */
  readonly since: number | undefined;
  readonly at: number;
  /** The names that resources had, each with its connection and target. */
  readonly lost: readonly {
    readonly name: string;
    readonly owner: string;
    readonly connection: string;
    /** Without the connection nothing shows that a name has disappeared. */
    readonly isFollowed: () => boolean;
    readonly target: string;
  }[];
  /** Numbers of names, each of a connection, and of targets that there were. */
  readonly names: number;
  readonly targets: number;
}

/** An entry that a VaultPush has deleted. */
type Deleted = Pick<Origin, "vault" | "owner" | "name">;

const targetOf = ({ kind, metadata: { namespace, name } }: KubeObject): string =>
  `${kind} ${namespace}/${name}`;

const isMany = (some: Iterable<string>, all: number): boolean => {
  const { size } = new Set(some);
  return size >= MIN_HELD && size > MAX_SHARE * all;
};

/**
 * Reports whether the resource of a target has no connection to a vault, as its replica knows: it
 * has reported the present connection, or knows no other one.
 */
function hasLeft({ world, history, namespace, owner }: TargetWrite, vault: string): boolean {
  const specs = history.recent(namespace, owner);
  const connections = specs.flatMap((spec) => {
    const present = connectionOf(world, namespace, spec);
    return present !== undefined && isObserved(present)
      ? [present["spec"] as ConnectionSpec]
      : history.recentConnections(namespace, spec);
  });
  return connections.length > 0 && connections.every(({ url }) => url !== urlOf(vault));
}

/** Returns the present connection of a resource. */
function connectionOf(
  { server }: World,
  namespace: string | undefined,
  spec: Spec,
): KubeObject | undefined {
  const { name } = spec.connectionRef;
  return isOfCluster(spec)
    ? server.find(clusterVaultConnectionKind, { name })
    : server.find(vaultConnectionKind, { namespace, name });
}

/** Reports whether the last status of a connection is of its present spec. */
function isObserved({ metadata, status = {} }: KubeObject): boolean {
  return (status as { observedGeneration?: number }).observedGeneration === metadata.generation;
}

/** Knows which secrets disappeared together, until a user confirms their removal. */
export class BlastLimit {
  readonly #world: World;
  #losses: Loss[] = [];

  constructor(world: World) {
    this.#world = world;
    world.onVanish = (command) => this.#vanish(command);
    world.onPushDelete = (entry) => this.#deleted(entry);
    world.onWipe = (namespace) => this.#wipe(namespace);
    world.onEdit = (resource, spec) => this.#edit(resource, spec as Spec);
    world.onConfirm = () => void (this.#losses = []);
  }

  /**
   * Without the statuses nothing says that a name was held which no spec requests now, or whose key
   * an edit removed: only what is requested, and in a target, counts again.
   */
  #wipe(namespace: string): void {
    const { resources, vaults } = this.#world;
    const known = new Set(
      resources.flatMap((resource) => {
        const target = targetObject(this.#world, resource);
        const values = target === undefined ? [] : Object.values(contentOf(target));
        const kept = new Set(
          values.flatMap((one) => vaults.originsIn(one).map(({ name }) => name)),
        );
        return itemsOf(resource["spec"] as Spec)
          .filter(({ source }) => kept.has(source))
          .map(({ source }) => `${targetOf(resource)} ${source}`);
      }),
    );
    const isKnown = ({ name, target }: Loss["lost"][number]): boolean =>
      !target.includes(` ${namespace}/`) || known.has(`${target} ${name}`);
    this.#keep(isKnown);
  }

  /** Forgets what else was lost. */
  #keep(isKnown: (lost: Loss["lost"][number]) => boolean): void {
    this.#losses = this.#losses.map((loss) => ({ ...loss, lost: loss.lost.filter(isKnown) }));
  }

  /** Takes in an edit. The operator does not miss a name that a user gave up before it held any. */
  #edit(resource: KubeObject, spec: Spec): void {
    const { namespace } = resource.metadata;
    if (!("connectionRef" in spec)) return;
    const connection = connectionOf(this.#world, namespace, resource["spec"] as Spec);
    // The edit may make a number right that was wrong, before the operator sees either.
    if (connection?.metadata.annotations?.[CONFIRM_REMOVALS_ANNOTATION]) this.#losses = [];
    if (heldRemovals(connection)) return;
    const requested = new Set(itemsOf(spec).map(({ source }) => source));
    const isKnown = ({ name, target }: Loss["lost"][number]): boolean =>
      target !== targetOf(resource) || requested.has(name);
    this.#keep(isKnown);
  }

  /**
   * No key is removed because its secret disappeared together with many others of its vault, until
   * a user confirms that (I20). A connection that has another vault by now follows that one.
   */
  check(write: TargetWrite, removed: readonly string[]): void {
    const { name, was } = write;
    for (const key of removed) {
      for (const origin of this.#world.vaults.originsIn(was[key] ?? "")) {
        const loss = this.#losses.find(
          (one) =>
            one.vault === origin.vault &&
            this.#goneIn(one).some(
              (gone) => gone.name === origin.name && gone.owner === origin.owner,
            ),
        );
        if (!loss || hasLeft(write, loss.vault)) continue;
        const names = [...new Set(this.#goneIn(loss).map((gone) => gone.name))].join();
        throw new Violation(
          "I20",
          `${name}: key ${key} was removed, although ${names} disappeared together`,
        );
      }
    }
  }

  /** Returns what is still gone of a loss, if it is much. */
  #goneIn({ vault, at, lost, names, targets }: Loss): Loss["lost"] {
    const { vaults } = this.#world;
    // One that was written again in the same millisecond has not disappeared.
    const isBack = (name: string, owner: string): boolean =>
      vaults.list(vault, owner).some((one) => one.key_name === name && one.owner === owner);
    const gone = lost.filter(
      ({ name, owner, isFollowed }) =>
        vaults.changedAt(vault, name) <= at && !isBack(name, owner) && isFollowed(),
    );
    const ofConnections = gone.map(({ name, connection }) => `${connection} ${name}`);
    const ofTargets = gone.map(({ target }) => target);
    return isMany(ofConnections, names) || isMany(ofTargets, targets) ? gone : [];
  }

  /** Before the secrets disappear. */
  #vanish(vanished: Vanished): void {
    this.#losses.push(...this.#lossesOf(vanished));
  }

  /** After a VaultPush has deleted an entry. Several within a short time are one loss. */
  #deleted(entry: Deleted): void {
    const { vault, name } = entry;
    for (const loss of this.#lossesOf({ vault, prefix: name }, entry)) {
      const before = this.#losses.findLast(
        (one) =>
          one.since !== undefined &&
          one.vault === vault &&
          one.shard === loss.shard &&
          loss.at - one.since <= TOGETHER_MS,
      );
      const lost = [...(before?.lost ?? []), ...loss.lost];
      const since = before?.since ?? loss.at;
      this.#losses = [...this.#losses.filter((one) => one !== before), { ...loss, since, lost }];
    }
  }

  #lossesOf(vanished: Vanished, deleted?: Deleted): Loss[] {
    const { vault } = vanished;
    const { resources } = this.#world;
    const { shards } = this.#world.replicas.config;
    const followed = resources.flatMap((resource) => {
      const { connectionRef } = resource["spec"] as Spec;
      const used = this.#connectionOf(resource, resource["spec"] as Spec);
      const { kind, name } = { kind: "VaultConnection", ...connectionRef } as ConnectionRef;
      const key = connectionKey({ kind, name }, resource.metadata.namespace ?? "");
      return used?.url === urlOf(vault)
        ? [{ resource, account: used.email, shard: shardOf(key, shards) }]
        : [];
    });
    // Each process counts the connections of its shards.
    return [...Map.groupBy(followed, ({ shard }) => shard)].map(([shard, ofShard]) => ({
      shard,
      since: undefined,
      ...this.#lossOf(vanished, ofShard, deleted),
    }));
  }

  #lossOf(
    { vault, prefix, spared }: Vanished,
    followed: readonly { readonly resource: KubeObject; readonly account: string }[],
    deleted: Deleted | undefined,
  ): Omit<Loss, "shard" | "since"> {
    const { vaults, clock } = this.#world;
    const all = new Set<string>();
    const lost = followed.flatMap(({ resource, account }) => {
      const spec = resource["spec"] as Spec;
      const { namespace, name } = resource.metadata;
      const connection = `${isOfCluster(spec) ? "" : namespace} ${spec.connectionRef.name}`;
      const sources = new Set(itemsOf(spec).map(({ source }) => source));
      for (const source of sources) all.add(`${connection} ${source}`);
      const target = targetObject(this.#world, resource);
      // One that a user took away has lost nothing when its sources disappear.
      const isOwn =
        target !== undefined &&
        (belongsTo(resource, target) || mergedInto(target).has(`${resource.kind}/${name}`));
      const origins = vaults.origins.meaning(sources, () =>
        Object.values(isOwn ? contentOf(target) : {}).flatMap((base64) => vaults.originsIn(base64)),
      );
      // A target may keep bytes of a secret that had gone before, or of one that the account of its
      // connection never had: nothing disappears from a list then.
      const listed = vaults.list(vault, account);
      const isListed = (origin: Origin): boolean =>
        listed.some((one) => one.key_name === origin.name && one.owner === origin.owner) ||
        (origin.name === deleted?.name &&
          origin.owner === deleted.owner &&
          origin.owner === account);
      const isLost = (origin: Origin): boolean =>
        origin.vault === vault &&
        isListed(origin) &&
        origin.name.startsWith(prefix) &&
        origin.owner !== spared &&
        sources.has(origin.name) &&
        !vaults.hasDeadline(origin.name);
      return origins.filter(isLost).map((origin) => ({
        name: origin.name,
        owner: origin.owner,
        connection,
        isFollowed: () => connectionOf(this.#world, namespace, spec) !== undefined,
        target: targetOf(resource),
      }));
    });
    return { vault, at: clock.monotonic(), lost, names: all.size, targets: followed.length };
  }

  /** Returns the spec of the connection whose vault a resource follows now. */
  #connectionOf(
    { metadata: { namespace } }: KubeObject,
    spec: Spec,
  ): Pick<ConnectionSpec, "url" | "email"> | undefined {
    const connection = connectionOf(this.#world, namespace, spec);
    const { conditions = [] } = (connection?.["status"] ?? {}) as {
      conditions?: readonly { type: string; status: string }[];
    };
    const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
    return isReady && connection ? (connection["spec"] as ConnectionSpec) : undefined;
  }
}
