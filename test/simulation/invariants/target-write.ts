import {
  ADOPT_ANNOTATION,
  MERGE_DOMAIN,
  OWNER_ANNOTATION,
  SOURCES_ANNOTATION,
  VERSIONS_ANNOTATION,
} from "../../../src/operator/api/names.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import type { Origin } from "../simulated-vaults.ts";
import type { World } from "../world.ts";
import type { KnownSpecs } from "./spec-history.ts";

export type Content = Readonly<Record<string, string>>;

/** A write of a Secret or ConfigMap by a replica of the operator. */
export interface TargetWrite {
  readonly world: World;
  /** The specs as the replica knows them. */
  readonly history: KnownSpecs;
  readonly user: string;
  /** For messages. */
  readonly name: string;
  readonly namespace: string;
  readonly before: KubeObject | undefined;
  readonly after: KubeObject | undefined;
  /**
   * The resource that the object belongs to, or belonged to, or that merges into it,
   * `<kind>/<name>`; empty if none does.
   */
  readonly owner: string;
  /** The resource adds keys to an object of another owner. */
  readonly isMerge: boolean;
  /** Another writer changed the object since the last write of the operator. */
  readonly isTampered: boolean;
  /** Time of the last write of the operator for this owner, in monotonic milliseconds. */
  readonly writtenAt: number;
  /** Time since when each key has its bytes, in monotonic milliseconds. */
  readonly keysAt: ReadonlyMap<string, number>;
  /** The resources that wrote the bytes of each key last, whether or not others claim the key. */
  readonly writers: ReadonlyMap<string, string>;
  /** Content in base64; for a merge, the content of the resource's keys only. */
  readonly was: Content;
  /** Content before or, if a user has deleted the object, the content that was written last. */
  readonly last: Content;
  readonly is: Content;
  /** The version that the object claims for each item. */
  readonly versions: Readonly<Record<string, number>>;
}

/**
 * Returns the resource that controls an object or, without a controller, that its annotation names.
 */
export function ownerOf({
  metadata: { ownerReferences = [], annotations = {} },
}: KubeObject): string | undefined {
  const controller = ownerReferences.find((reference) => reference.controller);
  return controller ? `${controller.kind}/${controller.name}` : annotations[OWNER_ANNOTATION];
}

/** Returns the content of a Secret or ConfigMap in base64. */
export function contentOf(object: KubeObject): Record<string, string> {
  const data = (object["data"] ?? {}) as Record<string, string>;
  if (object.kind === "Secret") return data;
  const texts = Object.entries(data).map(
    ([key, text]) => [key, Buffer.from(text).toString("base64")] as const,
  );
  return {
    ...Object.fromEntries(texts),
    ...(object["binaryData"] as Record<string, string> | undefined),
  };
}

/** Content that a resource merged into an object. */
interface Merged {
  readonly text: string;
  readonly keys: readonly string[];
  readonly versions: Readonly<Record<string, number>>;
  readonly sources: Readonly<Record<string, string>>;
}

const kinds: Readonly<Record<string, string>> = {
  vaultsecret: "VaultSecret",
  vaultfile: "VaultFile",
};

/** Returns the resources, `<kind>/<name>`, that merged keys into an object. */
export function mergedInto(object: KubeObject | undefined): ReadonlyMap<string, Merged> {
  const all = Object.entries(object?.metadata.annotations ?? {}).flatMap(
    ([annotation, text]): [string, Merged][] => {
      const [domain, resource = ""] = annotation.split("/");
      if (domain !== MERGE_DOMAIN) return [];
      const [kind = "", name = ""] = resource.split(/\.(.*)/);
      const claims = JSON.parse(text) as {
        readonly versions: string;
        readonly sources: string;
        readonly keys?: readonly string[];
      };
      const versions = JSON.parse(claims.versions) as Record<string, number>;
      const sources = JSON.parse(claims.sources) as Record<string, string>;
      return [
        [
          `${kinds[kind]}/${name}`,
          { text, keys: claims.keys ?? Object.keys(versions), versions, sources },
        ],
      ];
    },
  );
  return new Map(all);
}

/** Returns the resource that a write takes from those that keys are handed over to. */
function takerOf(before: KubeObject, after: KubeObject): string | undefined {
  const [was = [], is = []] = [before, after].map(({ metadata }) =>
    metadata.annotations?.[ADOPT_ANNOTATION]?.split(",").map((name) => name.trim()),
  );
  return was.find((name) => !is.includes(name));
}

/**
 * Returns the resources that a write may merge for; none if the write changes a target as a whole.
 * A repair of labels may be of any resource that has merged keys into the object.
 */
export function mergingOwners(
  before: KubeObject | undefined,
  after: KubeObject | undefined,
): readonly string[] {
  const [was, is] = [mergedInto(before), mergedInto(after)];
  if (!before || !after) return [];
  const changed = [...was.keys(), ...is.keys()].find(
    (owner) => was.get(owner)?.text !== is.get(owner)?.text,
  );
  // An object that was handed over is written as a whole, also with keys that others merged.
  const isTaken = ownerOf(before) === undefined && ownerOf(after) !== undefined;
  if (changed !== undefined && !is.has(changed) && (isTaken || ownerOf(after) === changed))
    return [];
  if (changed !== undefined) return [changed];
  // Another controller may own an object that keys are merged into.
  const isTarget = [before, after].some((object) =>
    /^(?:Cluster)?Vault(?:Secret|File)\//u.test(ownerOf(object) ?? ""),
  );
  if (isTarget) return [];
  const taker = takerOf(before, after);
  if (taker !== undefined) return [taker];
  // A repair of what another writer changed does not change the annotation.
  const [had, has] = [contentOf(before), contentOf(after)];
  const repaired = [...is].find(([, { keys }]) => keys.some((key) => had[key] !== has[key]));
  return repaired ? [repaired[0]] : [...is.keys()];
}

/** Returns the versions that a target claims for its items. */
export const claimedVersions = (object: KubeObject | undefined): Readonly<Record<string, number>> =>
  JSON.parse(object?.metadata.annotations?.[VERSIONS_ANNOTATION] ?? "{}") as Record<string, number>;

/** Returns the address of the vault, as a digest, that an object claims for an item of a resource. */
function claimedAddress(
  object: KubeObject | undefined,
  owner: string,
  id: string,
): string | undefined {
  const text = object?.metadata.annotations?.[SOURCES_ANNOTATION];
  const sources =
    mergedInto(object).get(owner)?.sources ?? (JSON.parse(text ?? "{}") as Record<string, string>);
  return sources[id]?.split(".")[0];
}

/** Reports whether an item has another address now: one vault at http and at https counts as two. */
export function isReaddressed({ before, after, owner }: TargetWrite, id: string): boolean {
  const was = claimedAddress(before, owner, id);
  return was !== undefined && was !== claimedAddress(after, owner, id);
}

/** Returns the version of bytes of the vault. */
export const versionOf = ({ versions }: Origin): number => Math.max(...versions);

export const isSameSource = (a: Origin, b: Origin): boolean =>
  a.vault === b.vault && a.owner === b.owner && a.name === b.name;

/**
 * Returns the highest version of the source of `origin` among the origins of other bytes;
 * `undefined` if they have none of it.
 */
export function versionIn(origins: readonly Origin[], origin: Origin): number | undefined {
  const versions = origins.filter((other) => isSameSource(other, origin)).map(versionOf);
  return versions.length === 0 ? undefined : Math.max(...versions);
}
