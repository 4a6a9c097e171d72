import { isDeepStrictEqual } from "node:util";
import {
  ADOPT_ANNOTATION,
  MERGE_DOMAIN,
  MERGED_LABEL,
  OWNER_ANNOTATION,
} from "../../../src/operator/api/names.ts";
import type { KubeObject } from "../../../src/operator/kube/resource.ts";
import { Violation } from "../world.ts";
import type { KnownSpecs } from "./spec-history.ts";
import { targetOf } from "./spec-items.ts";
import { contentOf, mergedInto, type TargetWrite } from "./target-write.ts";

/**
 * Returns everything of an object that a resource which merges into it must not change. The first
 * write removes the resource from those that keys are handed over to.
 */
function othersOf(object: KubeObject, own: ReadonlySet<string>, owner: string): unknown {
  const {
    labels: { [MERGED_LABEL]: _, ...labels } = {},
    annotations = {},
    ownerReferences = [],
    finalizers = [],
  } = object.metadata;
  const content = Object.entries(contentOf(object)).filter(([key]) => !own.has(key));
  const notes = Object.entries(annotations).filter(
    ([name, value]) =>
      !name.startsWith(`${MERGE_DOMAIN}/`) && !(name === ADOPT_ANNOTATION && value === owner),
  );
  return [
    Object.fromEntries(content),
    labels,
    Object.fromEntries(notes),
    ownerReferences,
    finalizers,
    object["type"],
    object["immutable"],
  ];
}

/**
 * Returns the keys that a resource merged into an object, before or after a write, without the keys
 * that others keep. Another one still claims a key that a user has removed and this one has written
 * since, as long as it cannot write; a key that stays when this one gives it up is of the other one.
 */
export function ownKeys({
  before,
  after,
  owner,
  writers,
}: Pick<TargetWrite, "before" | "after" | "owner" | "writers">): ReadonlySet<string> {
  const claims = mergedInto(after);
  const now = new Set(claims.get(owner)?.keys);
  const [had, has] = [before, after].map((object) => (object ? contentOf(object) : {}));
  const stays = (key: string): boolean => had?.[key] === has?.[key];
  const others = [...claims]
    .flatMap(([other, { keys }]) => (other === owner ? [] : keys))
    .filter((key) => !now.has(key) && (writers.get(key) !== owner || stays(key)));
  const former = mergedInto(before).get(owner)?.keys ?? [];
  return new Set([...now, ...former.filter((key) => !others.includes(key))]);
}

/**
 * Returns the keys that a resource may have applied, if a user removed its annotation: the field
 * manager still knows them.
 */
function appliedKeys({ before, owner, world }: TargetWrite): readonly string[] {
  if (before === undefined || mergedInto(before).has(owner)) return [];
  const content = Object.entries(contentOf(before));
  return content
    .filter(([, base64]) => world.vaults.originsIn(base64).length > 0)
    .map(([key]) => key);
}

/** Reports whether a spec of a resource, as a replica may know it, merges into this object. */
export function requestsMerge(history: KnownSpecs, owner: string, object: KubeObject): boolean {
  const [kind = "", resource = ""] = owner.split("/");
  return history.recent(object.metadata.namespace, owner).some((spec) => {
    const target = targetOf(kind, resource, spec);
    return (
      spec.target?.creationPolicy === "Merge" &&
      target.kind === object.kind &&
      target.name === object.metadata.name
    );
  });
}

/**
 * A merge changes its own keys of an object that a spec with this policy names, and nothing else of
 * it (I16).
 */
export function checkMerge(write: TargetWrite): void {
  const { history, name, before, after, owner, is, world } = write;
  if (!before || !after)
    throw new Violation(
      "I16",
      `${name} was created or deleted for ${owner}: it only merges into it`,
    );
  if (!requestsMerge(history, owner, after))
    throw new Violation(
      "I16",
      `${name} has keys of ${owner}: it does not request to merge into it`,
    );
  const own = new Set([...ownKeys(write), ...appliedKeys(write)]);
  // The marks of a target that was the operator's as a whole are released.
  const isReleased = before.metadata.annotations?.[OWNER_ANNOTATION] !== undefined;
  if (!isReleased && !isDeepStrictEqual(othersOf(before, own, owner), othersOf(after, own, owner)))
    throw new Violation("I16", `${name}: ${owner} changed what it does not merge`);
  const claimed = mergedInto(before).get(owner)?.keys ?? [];
  const taken = Object.entries(contentOf(before)).find(
    ([key, base64]) =>
      key in is &&
      !claimed.includes(key) &&
      is[key] !== base64 &&
      world.vaults.originsIn(base64).length === 0,
  );
  const others = [...mergedInto(before)].flatMap(([other, { keys }]) =>
    other === owner ? [] : keys,
  );
  const contested = others.find(
    (key) =>
      key in is &&
      !claimed.includes(key) &&
      is[key] !== contentOf(before)[key] &&
      world.vaults.originsIn(contentOf(before)[key] ?? "").length > 0,
  );
  if (contested !== undefined)
    throw new Violation("I16", `${name}: ${owner} took the key ${contested} from another resource`);
  const isHandedOver = isReleased || before.metadata.annotations?.[ADOPT_ANNOTATION] === owner;
  if (taken && !isHandedOver)
    throw new Violation("I16", `${name}: ${owner} replaced the key ${taken[0]} of another writer`);
}
