import { API_GROUP } from "../../../src/operator/api/kinds.ts";
import {
  ACCEPT_ANNOTATION,
  APPROVE_ANNOTATION,
  HOLD_ANNOTATION,
} from "../../../src/operator/api/names.ts";
import { type KubeObject, NAMESPACES } from "../../../src/operator/kube/resource.ts";
import type { Change } from "../../lab/simulated/api-server/collection.ts";
import { isFanOut, isFanOutOwner } from "../fanned-out.ts";
import { type Labels, type NamespaceSelector, selectsNamespace } from "../selectors.ts";
import type { World } from "../world.ts";
import { type Spec, specOf } from "./spec-items.ts";

/** The spec of a connection, as far as the invariants concern it. */
export interface ConnectionSpec {
  readonly refreshInterval?: string;
  readonly url: string;
  readonly email: string;
  readonly reportUse?: boolean;
  readonly scope?: object;
  readonly trustedOwners?: readonly string[];
  readonly receive?: string;
  readonly access?: readonly {
    readonly namespaceSelector: NamespaceSelector;
    readonly secrets: readonly string[];
    readonly files: readonly string[];
  }[];
}

/** A resource in a namespace, and the specs that a replica may still follow. */
interface KnownResource {
  readonly namespace: string;
  readonly kind: string;
  readonly specs: readonly Spec[];
}

/**
 * Time after which the operator knows a changed spec, in milliseconds: the longest lag of a watch,
 * and a request.
 */
const LAG_MS = 90_000;

/** The specs as one replica knows them. */
export interface KnownSpecs {
  /**
   * Reports whether no spec of the namespace has changed for so long that the replica knows all of
   * them.
   */
  isSettled(namespace: string | undefined): boolean;
  /**
   * Returns the specs that the replica may still follow: the current spec, and specs that were
   * changed a short time ago; of a resource for several namespaces those that select the namespace,
   * or did so a short time ago. Without a namespace: all of these.
   */
  recent(namespace: string | undefined, owner: string): readonly Spec[];
  /** Returns the same of the connection that a spec refers to. */
  recentConnections(namespace: string | undefined, spec: Spec): readonly ConnectionSpec[];
  /** Returns the same of the labels of a namespace. */
  recentLabels(namespace: string): readonly Readonly<Record<string, string>>[];
  /**
   * Returns the specs that a write at a time, in monotonic milliseconds, may have followed, and
   * those that the resource has had since.
   */
  since(namespace: string | undefined, owner: string, at: number): readonly Spec[];
  /**
   * Returns since when the present spec and its connection are what they are, in monotonic
   * milliseconds.
   */
  presentSince(namespace: string | undefined, owner: string, spec: Spec): number;
  resources(): readonly KnownResource[];
}

interface Period {
  readonly spec: object;
  readonly startedAt: number;
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
  remember(change: Change): void {
    const { resource, before, after } = change;
    if (resource.kind === NAMESPACES.kind && after) return this.rememberLabels(after);
    if (resource.group !== API_GROUP) return;
    const { metadata, kind } = (after ?? before)!;
    const now = this.#world.clock.monotonic();
    if (
      before &&
      after &&
      before.metadata.generation === metadata.generation &&
      isSameAcceptance(before, after)
    )
      return;
    this.#changedAt.set(metadata.namespace ?? "", now);
    this.#replace(this.#of(metadata.namespace, `${kind}/${metadata.name}`), after && specOf(after));
  }

  /** Takes in the labels of a namespace. */
  rememberLabels({ metadata: { name, labels = {} } }: KubeObject): void {
    this.#changedAt.set("", this.#world.clock.monotonic());
    this.#replace(this.#of(name, "labels"), labels);
  }

  #replace(periods: Period[], spec: object | undefined): void {
    const now = this.#world.clock.monotonic();
    const last = periods.at(-1);
    if (last) last.endedAt = Math.min(last.endedAt, now);
    if (spec) periods.push({ spec, startedAt: now, endedAt: Infinity });
  }

  /**
   * Returns the time of the last change of a spec in the namespace, or of one that concerns all
   * namespaces.
   */
  #lastChange(namespace = ""): number {
    return Math.max(this.#changedAt.get(namespace) ?? 0, this.#changedAt.get("") ?? 0);
  }

  /**
   * Reports whether no spec of the namespace has changed since a time, in monotonic milliseconds.
   */
  isUnchangedSince(namespace: string, time: number): boolean {
    return this.#lastChange(namespace) < time;
  }

  /**
   * Returns what a replica knows now. A replica that was suspended until a short time ago knows
   * nothing of the changes during the suspension.
   */
  knownTo(user: string): KnownSpecs {
    const world = this.#world;
    const seenAt = world.replicas.suspendedAt(user, LAG_MS) ?? world.clock.monotonic();
    const known = seenAt - LAG_MS;
    const recent = (namespace: string | undefined, owner: string): object[] => {
      const until = known - world.watchDelayMs(namespace, seenAt);
      return this.#specsSince(namespace, owner, until);
    };
    return {
      isSettled: (namespace) =>
        this.#lastChange(namespace) < known - world.watchDelayMs(namespace, seenAt),
      recent: (namespace, owner) => recent(namespace, owner) as Spec[],
      since: (namespace, owner, at) => this.#specsSince(namespace, owner, at - LAG_MS) as Spec[],
      recentConnections: (namespace, spec) =>
        recent(...connectionOf(namespace, spec)) as ConnectionSpec[],
      presentSince: (namespace, owner, spec) =>
        Math.max(
          ...[
            this.#of(...placeOf(namespace, owner)),
            this.#of(...connectionOf(namespace, spec)),
            isFanOutOwner(owner) ? this.#of(namespace, "labels") : [],
          ].map((periods) => periods.at(-1)?.startedAt ?? 0),
        ),
      recentLabels: (namespace) => recent(namespace, "labels") as Labels[],
      resources: () =>
        [...this.#specs.keys()].flatMap((id) => {
          const [namespace = "", owner = ""] = id.split(" ");
          const [kind = ""] = owner.split("/");
          const namespaces = isFanOut(kind) ? this.#namespaces() : [namespace];
          return isFanOut(kind) || kind === "VaultSecret" || kind === "VaultFile"
            ? namespaces.map((one) => ({
                namespace: one,
                kind,
                specs: recent(one, owner) as Spec[],
              }))
            : [];
        }),
    };
  }

  /** Returns the specs that a resource has had since a time, in monotonic milliseconds. */
  #specsSince(namespace: string | undefined, owner: string, at: number): object[] {
    const periods = this.#of(...placeOf(namespace, owner));
    const specs = periods.flatMap(({ spec, endedAt }) => (endedAt >= at ? [spec] : []));
    if (namespace === undefined || !isFanOutOwner(owner)) return specs;
    const labels = this.#specsSince(namespace, "labels", at) as Labels[];
    return specs.filter((spec) => labels.some((one) => selectsNamespace(spec, namespace, one)));
  }

  /** Returns the names of all namespaces that there have been. */
  #namespaces(): string[] {
    return [...this.#specs.keys()].flatMap((id) => {
      const [namespace = "", owner = ""] = id.split(" ");
      return owner === "labels" ? [namespace] : [];
    });
  }

  #of(namespace: string | undefined, owner: string): Period[] {
    const id = `${namespace} ${owner}`;
    const specs = this.#specs.get(id) ?? [];
    this.#specs.set(id, specs);
    return specs;
  }
}

/** Returns under which namespace the specs of an owner are: none for one of the cluster. */
const placeOf = (
  namespace: string | undefined,
  owner: string,
): readonly [string | undefined, string] => [isFanOutOwner(owner) ? undefined : namespace, owner];

/** Returns the namespace of the connection that a spec refers to, and its `<kind>/<name>`. */
const connectionOf = (
  namespace: string | undefined,
  { connectionRef: { kind = "VaultConnection", name } }: Spec,
): readonly [string | undefined, string] => [
  kind === "VaultConnection" ? namespace : undefined,
  `${kind}/${name}`,
];

/** Reports whether users accept, approve and hold the same versions. */
const isSameAcceptance = (before: KubeObject, after: KubeObject): boolean =>
  [ACCEPT_ANNOTATION, APPROVE_ANNOTATION, HOLD_ANNOTATION].every(
    (name) => before.metadata.annotations?.[name] === after.metadata.annotations?.[name],
  );
