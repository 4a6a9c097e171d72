import { API_GROUP } from "../../../src/operator/api/kinds.ts";
import { ACCEPT_ANNOTATION } from "../../../src/operator/api/names.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../support/kube/in-memory/collection.ts";
import type { World } from "../world.ts";

/** The spec of a VaultSecret or VaultFile, as far as the invariants concern it. */
export interface Spec {
  readonly connectionRef: { readonly name: string };
  readonly refreshInterval?: string;
  readonly data?: readonly {
    readonly secretKey: string;
    readonly remoteRef: { readonly key: string; readonly owner?: string; readonly version?: number };
  }[];
  readonly files?: readonly { readonly filename: string; readonly key?: string; readonly version?: number }[];
  readonly target?: { readonly name?: string; readonly kind?: string; readonly whenMissing?: string };
}

/** The spec of a VaultConnection, as far as the invariants concern it. */
export interface ConnectionSpec {
  readonly url: string;
  readonly email: string;
  readonly scope?: object;
}

export interface Item {
  readonly key: string;
  /** Name of the source in the vault. */
  readonly source: string;
  readonly owner: string | undefined;
  readonly version: number | "latest";
}

/** Time after which the operator knows a changed spec, in milliseconds: the longest lag of a watch, and a request. */
const LAG_MS = 90_000;

/** The specs as one replica knows them. */
export interface KnownSpecs {
  /** Reports whether no spec of the namespace has changed for so long that the replica knows all of them. */
  isSettled(namespace: string | undefined): boolean;
  /** Returns the specs that the replica may still follow: the current one, and those that were changed a short time ago. */
  recent(namespace: string | undefined, owner: string): readonly Spec[];
  /** Returns the same of a VaultConnection. */
  recentConnections(namespace: string | undefined, name: string): readonly ConnectionSpec[];
}

interface Period {
  readonly spec: object;
  /** In monotonic milliseconds; infinite for the current spec. */
  endedAt: number;
}

/** All specs that the resources of a world have had, and since when. */
export class SpecHistory {
  readonly #world: World;
  /** By `<namespace> <kind>/<name>`. */
  readonly #specs = new Map<string, Period[]>();
  /** Time of the last change of a spec, by namespace. */
  readonly #changedAt = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Takes in a change of any object. */
  remember({ resource, before, after }: Change): void {
    if (resource.group !== API_GROUP) return;
    const { metadata, kind } = (after ?? before)!;
    const now = this.#world.clock.monotonic();
    if (before && after && before.metadata.generation === metadata.generation && isSameAcceptance(before, after)) return;
    this.#changedAt.set(metadata.namespace ?? "", now);
    const specs = this.#of(metadata.namespace, `${kind}/${metadata.name}`);
    const last = specs.at(-1);
    if (last) last.endedAt = Math.min(last.endedAt, now);
    if (after) specs.push({ spec: after["spec"] as object, endedAt: Infinity });
  }

  /** Reports whether no spec of the namespace has changed since a time, in monotonic milliseconds. */
  isUnchangedSince(namespace: string, time: number): boolean {
    return (this.#changedAt.get(namespace) ?? 0) < time;
  }

  /** Returns what a replica knows now. One that was suspended until a short time ago knows nothing of what changed meanwhile. */
  knownTo(user: string): KnownSpecs {
    const { clock, watchDelayMs } = this.#world;
    const until = (this.#world.suspendedAt(user, LAG_MS) ?? clock.monotonic()) - LAG_MS - watchDelayMs;
    const recent = (namespace: string | undefined, owner: string): object[] =>
      this.#of(namespace, owner).flatMap(({ spec, endedAt }) => (endedAt >= until ? [spec] : []));
    return {
      isSettled: (namespace = "") => (this.#changedAt.get(namespace) ?? 0) < until,
      recent: (namespace, owner) => recent(namespace, owner) as Spec[],
      recentConnections: (namespace, name) => recent(namespace, `VaultConnection/${name}`) as ConnectionSpec[],
    };
  }

  #of(namespace: string | undefined, owner: string): Period[] {
    const id = `${namespace} ${owner}`;
    const specs = this.#specs.get(id) ?? [];
    this.#specs.set(id, specs);
    return specs;
  }
}

const isSameAcceptance = (before: KubeObject, after: KubeObject): boolean =>
  before.metadata.annotations?.[ACCEPT_ANNOTATION] === after.metadata.annotations?.[ACCEPT_ANNOTATION];

/** Returns the items of a spec. */
export function itemsOf({ data = [], files = [] }: Spec): Item[] {
  return [
    ...data.map(({ secretKey, remoteRef: { key, owner, version = "latest" as const } }) => ({
      key: secretKey,
      source: key,
      owner,
      version,
    })),
    ...files.map(({ filename, key = filename, version = "latest" as const }) => ({
      key,
      source: filename,
      owner: undefined,
      version,
    })),
  ];
}

/** Returns the target that a spec names. */
export function targetOf(kind: string, name: string, { target = {} }: Spec): { readonly kind: string; readonly name: string } {
  return { kind: kind === "VaultFile" ? (target.kind ?? "") : "Secret", name: target.name ?? name };
}
