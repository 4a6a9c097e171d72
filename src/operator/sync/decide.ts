import { ADOPT_ANNOTATION } from "../api/names.ts";
import type { Candidate, Resolution } from "./resolution.ts";
import { isDerived, isMerged, type SyncItem, type SyncResource } from "./sync-resource.ts";
import { ownerName, sameCreation, type SyncedKey, sourceId, type TargetState } from "./target.ts";
import { foundText } from "./find-items.ts";
import { missingKeys, requiresKeys } from "./required-keys.ts";
import { droppedFrom, goneClaims, isDropped, isOwn } from "./gone-claims.ts";
import {
  keptText,
  notReady,
  type ReadyCondition,
  readyConditionOf,
  unproven,
  withoutRest,
  withoutSources,
} from "./ready-condition.ts";

/** Maximum size of a Secret or ConfigMap, in bytes of its values. */
export const MAX_TARGET_BYTES = 1024 * 1024;

/** One source of the desired target. Its bytes come from the existing target or from the vault. */
export type Entry =
  | {
      readonly from: "target";
      readonly id: string;
      readonly synced: SyncedKey;
      readonly item: SyncItem;
      readonly refetch: Fetch | undefined;
    }
  | { readonly from: "vault"; readonly id: string; readonly item: SyncItem; readonly fetch: Fetch };

/** One version of an entry of the vault to read. */
export interface Fetch {
  readonly candidate: Candidate;
  readonly version: number;
}

/** The change of the target, if any, that a reconcile makes. */
export type Plan =
  /** Leave the target unchanged. */
  | { readonly action: "keep" }
  /**
   * According to its annotations, the target has exactly these keys already: check that, and write
   * it if not.
   */
  | { readonly action: "verify"; readonly entries: readonly Entry[] }
  /**
   * The target has exactly these keys already, but not the owner, labels or annotations that the
   * spec requests.
   */
  | { readonly action: "repair"; readonly entries: readonly Entry[] }
  | { readonly action: "write"; readonly entries: readonly Entry[] }
  | { readonly action: "delete"; readonly uid: string; readonly resourceVersion: string };

/** A plan, and the Ready condition to report if it succeeds. */
export interface Decision {
  readonly plan: Plan;
  readonly readyCondition: ReadyCondition;
}

/** States in which an item does not prevent the creation of a target. */
const settledStates: ReadonlySet<Resolution["state"]> = new Set([
  "found",
  "removed",
  "unusable",
  "withheld",
]);

/** Reports whether an item lets a target be created with what is there of it. */
export const isComplete = (one: Resolution): boolean =>
  settledStates.has(one.state) || isDropped(one);

const idsOf = (items: readonly { readonly id: string }[]): string[] => items.map(({ id }) => id);

/** Reports whether nothing has to be retained of a source. */
const isSettled = (one: Resolution): boolean =>
  one.state === "found" ||
  one.state === "unusable" ||
  (one.state === "withheld" && !one.hasBytes) ||
  isDropped(one);

/** Reports whether every source is there or gone: nothing has to be retained. */
const isLossless = (resolutions: readonly Resolution[]): boolean => resolutions.every(isSettled);

const NOTHING: ReadonlyMap<string, SyncedKey> = new Map();

/** Returns what a target claims to have. */
const syncedOf = (target: TargetState): ReadonlyMap<string, SyncedKey> =>
  target.state === "owned" ? target.synced : NOTHING;

/**
 * Reports whether a target may lose bytes of other sources because of sources that are gone. A
 * deadline is a promise to their creators, and `whenMissing: Delete` is about all sources; a
 * missing optional source takes nothing with it that the policy retains.
 */
export function outweighsOthers(
  { whenMissing }: SyncResource,
  resolutions: readonly Resolution[],
  dropped: readonly Resolution[],
): boolean {
  return (
    dropped.some(({ state }) => state === "removed" || whenMissing === "Delete") ||
    isLossless(resolutions)
  );
}

/**
 * Reports whether the synced bytes are of the desired entry, version and form, and not of a deleted
 * entry of the same name.
 */
function isCurrent(
  { version, source, createdAt, form, found }: SyncedKey,
  item: SyncItem,
  fetch: Fetch,
): boolean {
  const listed = fetch.candidate.createdAt?.get(fetch.version);
  const { vault, owner } = fetch.candidate;
  if (form !== item.form || found !== foundText(item)) return false;
  return (
    version === fetch.version &&
    source === sourceId(vault, item.source, owner) &&
    sameCreation(createdAt, listed)
  );
}

/** @param gone the items whose bytes have to leave the target */
function entryOf(
  resolution: Resolution,
  synced: ReadonlyMap<string, SyncedKey>,
  gone: ReadonlySet<string>,
): Entry | undefined {
  const { item } = resolution;
  const { id } = item;
  if (resolution.state === "unusable") return undefined;
  const current = synced.get(id);
  if (resolution.state === "found") {
    const fetch = { candidate: resolution.candidate, version: resolution.version };
    return current !== undefined && isCurrent(current, item, fetch)
      ? { from: "target", id, synced: current, item, refetch: fetch }
      : { from: "vault", id, item, fetch };
  }
  if (isDropped(resolution) || gone.has(id)) return undefined;
  return current && { from: "target", id, synced: current, item, refetch: undefined };
}

/** Returns the sources of the content that a target is to have. */
function entriesFor(resolutions: readonly Resolution[], target: TargetState): Entry[] {
  const synced = syncedOf(target);
  const gone = new Set(isOwn(target) ? goneClaims(resolutions, synced).keys() : []);
  return resolutions.flatMap((resolution) => entryOf(resolution, synced, gone) ?? []);
}

/** Returns the sum of the listed sizes. The vault does not list the sizes of secrets. */
function listedBytes(resolutions: readonly Resolution[]): number {
  let total = 0;
  for (const resolution of resolutions) {
    if (resolution.state === "found")
      total += resolution.candidate.sizes?.get(resolution.version) ?? 0;
  }
  return total;
}

/** Returns the condition for a content that exceeds {@link MAX_TARGET_BYTES}. */
export const tooLarge = (bytes: number): ReadyCondition =>
  notReady(
    "TooLarge",
    `the content has ${bytes} bytes, a Secret or ConfigMap can store at most ${MAX_TARGET_BYTES}: split it over several targets`,
  );

/** Returns the target in a message. */
export const targetName = ({ target }: SyncResource): string => `the ${target.kind} ${target.name}`;

/**
 * Returns the condition for a target name that another object has. Its owner, if known, can be this
 * resource: a tool has removed both the label and the owner reference and so taken the object away
 * from it.
 */
export function targetConflict(
  resource: SyncResource,
  { owner, controller, hasMergedKeys }: Extract<TargetState, { readonly state: "foreign" }>,
): ReadyCondition {
  const { kind, name } = resource.target;
  const handOver = `hand it over with the annotation ${ADOPT_ANNOTATION}: ${ownerName(resource)}`;
  const why =
    owner !== undefined && owner !== ownerName(resource)
      ? `belongs to ${owner}: choose another target.name`
      : controller !== undefined
        ? `is controlled by ${controller}: choose another target.name, or delete that object with --cascade=orphan, which keeps the ${kind}, and ${handOver}`
        : hasMergedKeys === true
          ? `belongs to others, to whom it stays although creationPolicy is not Merge any more: set creationPolicy to Merge, choose another target.name, or ${handOver}`
          : `is not managed by this operator: choose another target.name, delete it, or ${handOver}`;
  return notReady("TargetConflict", `the ${kind} ${name} already exists and ${why}`);
}

const targetMissing = ({ target }: SyncResource): ReadyCondition =>
  notReady(
    "TargetMissing",
    `the ${target.kind} ${target.name} does not exist, and creationPolicy Merge only adds keys to an object of others: create it, or change spec.target`,
  );

/** Returns the condition that prevents any write of the target, whatever the state of its items. */
function obstacle(
  resource: SyncResource,
  resolutions: readonly Resolution[],
  target: TargetState,
): ReadyCondition | undefined {
  const { items, finds, template } = resource;
  const missing = missingKeys(
    resource,
    template === undefined ? idsOf(items) : Object.keys(template.data),
  );
  if (
    missing.length > 0 &&
    (template !== undefined || (!isDerived(resource) && finds.length === 0))
  ) {
    return notReady(
      "InvalidSpec",
      `${template === undefined ? "spec.data" : "spec.target.template.data"}: ${requiresKeys(resource, missing)}`,
    );
  }
  if (target.state === "foreign") return targetConflict(resource, target);
  if (target.state === "absent" && isMerged(resource)) return targetMissing(resource);
  const bytes = listedBytes(resolutions);
  // What is gone leaves the target nevertheless.
  return bytes > MAX_TARGET_BYTES && droppedFrom(resolutions, target).length === 0
    ? tooLarge(bytes)
    : undefined;
}

/** Returns the condition of a target without any key, or without those that its type requires. */
function explainMissing(
  resource: SyncResource,
  resolutions: readonly Resolution[],
  missing: readonly string[],
  absent: string | undefined,
): ReadyCondition {
  const problems = readyConditionOf(resolutions, absent);
  if (missing.length === 0)
    return problems.ready && absent !== undefined ? withoutSources(absent) : problems;
  const why = requiresKeys(resource, missing);
  if (problems.ready)
    return notReady("SourceMissing", `${why}, whose sources are absent; ${keptText(absent)}`);
  return absent !== undefined && resolutions.some(isDropped)
    ? withoutRest(problems, why)
    : problems;
}

/**
 * Reports whether all sources are gone, whatever is known of the bytes of the target. An object that
 * has no merged keys loses nothing.
 */
const isAllDropped = (
  resource: SyncResource,
  resolutions: readonly Resolution[],
  target: TargetState,
): boolean =>
  (!isMerged(resource) || syncedOf(target).size > 0) &&
  resolutions.length > 0 &&
  resolutions.every(isDropped);

/**
 * Decides for a target that would have no key, or not those that its type requires. It is removed
 * if it has bytes of sources that are gone; an object that the resource merges into only loses its
 * keys. See docs/design/engine.md#removals.
 */
function decideWithout(
  resource: SyncResource,
  resolutions: readonly Resolution[],
  target: TargetState,
  missing: readonly string[],
): Decision {
  const dropped = droppedFrom(resolutions, target);
  const isRemoved =
    dropped.length > 0
      ? outweighsOthers(resource, resolutions, dropped)
      : isAllDropped(resource, resolutions, target);
  const removed = isOwn(target) && isRemoved ? target : undefined;
  const isAbsent = !isMerged(resource) && (target.state === "absent" || removed !== undefined);
  const readyCondition = explainMissing(
    resource,
    resolutions,
    missing,
    isAbsent ? targetName(resource) : undefined,
  );
  if (removed === undefined) return { plan: { action: "keep" }, readyCondition };
  if (isMerged(resource)) return { plan: { action: "write", entries: [] }, readyCondition };
  return {
    plan: { action: "delete", uid: removed.uid, resourceVersion: removed.resourceVersion },
    readyCondition,
  };
}

const keep = (readyCondition: ReadyCondition): Decision => ({
  plan: { action: "keep" },
  readyCondition,
});

/** Reports whether an item is unavailable that the spec requires, whatever the vault has. */
const isLacking = (one: Resolution): boolean =>
  one.state !== "unmatched" &&
  !isComplete(one) &&
  one.item.isOptional !== true &&
  one.item.foundBy === undefined;

/**
 * Reports whether content that is made of all sources together lacks one that is unavailable, and
 * that the target was not made of before. What is gone leaves the target nevertheless.
 */
function lacksSource(
  resource: SyncResource,
  target: TargetState,
  entries: readonly Entry[],
  resolutions: readonly Resolution[],
): boolean {
  if (!isDerived(resource) || droppedFrom(resolutions, target).length > 0) return false;
  const known = new Set(idsOf(entries));
  return resolutions.some((one) => isLacking(one) && !known.has(one.item.id));
}

/**
 * Returns what is done with a target that is to have these entries:
 *
 * | Target | Entries | Action |
 * |---|---|---|
 * | absent | of all items, but those that are gone or unusable | write |
 * | absent | not of an item that is unavailable | keep |
 * | existing, made of all items together | not of an item that is unavailable | keep |
 * | existing | other ones than it has | write |
 * | existing, with the requested metadata | those that it has | verify |
 * | existing, without the requested metadata | those that it has | repair |
 */
function actionFor(
  resource: SyncResource,
  target: TargetState,
  entries: readonly Entry[],
  resolutions: readonly Resolution[],
): "keep" | "write" | "verify" | "repair" {
  if (target.state === "absent") {
    return resolutions.every(isComplete) ? "write" : "keep";
  }
  if (lacksSource(resource, target, entries, resolutions)) return "keep";
  const isSame =
    entries.length === syncedOf(target).size && entries.every((entry) => entry.from === "target");
  if (!isSame) return "write";
  return target.state === "owned" && target.hasMetadata ? "verify" : "repair";
}

/**
 * Decides the plan for one resource. Pure and total. `resolutions` has one entry per item, in the
 * order of the spec. A target is only created complete: none is written while an item is
 * unavailable. An existing target keeps the bytes of unavailable items and follows all other items;
 * if its annotations no longer identify those bytes, it is left unchanged. See
 * docs/design/engine.md#target-writes and docs/design/engine.md#removals.
 */
export function decide(
  resource: SyncResource,
  resolutions: readonly Resolution[],
  target: TargetState,
): Decision {
  const blocked = obstacle(resource, resolutions, target);
  if (blocked !== undefined) return keep(blocked);
  const absent = target.state === "absent" ? targetName(resource) : undefined;
  const readyCondition = readyConditionOf(resolutions, absent);
  const isUnknown = target.state === "owned" && target.annotationsCorrupted;
  if (isUnknown && !isLossless(resolutions))
    return keep(readyCondition.ready ? unproven(resolutions, "the edited target") : readyCondition);
  const entries = entriesFor(resolutions, target);
  // The API server would reject a Secret without a key that its type requires.
  const missing =
    isDerived(resource) || entries.length === 0 ? [] : missingKeys(resource, idsOf(entries));
  if (entries.length === 0 || missing.length > 0)
    return decideWithout(resource, resolutions, target, missing);
  const action = actionFor(resource, target, entries, resolutions);
  return action === "keep" ? keep(readyCondition) : { plan: { action, entries }, readyCondition };
}
