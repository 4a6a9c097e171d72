import type { Candidate, Resolution } from "./resolve.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";
import { type SyncedKey, sourceId, type TargetState } from "./target.ts";
import { notReady, type ReadyCondition, readyConditionOf } from "./ready-condition.ts";

/** What a Secret or ConfigMap holds at most, in bytes of its values. */
export const MAX_TARGET_BYTES = 1024 * 1024;

/** One key the target is to hold. `synced` bytes are those it holds already; `fetch` ones come from the vault. */
export type Entry<C extends Candidate = Candidate> =
  | {
      readonly from: "target";
      readonly targetKey: string;
      readonly synced: SyncedKey;
      readonly item: SyncItem;
      readonly refetch: Fetch<C> | undefined;
    }
  | { readonly from: "vault"; readonly targetKey: string; readonly item: SyncItem; readonly fetch: Fetch<C> };

export interface Fetch<C extends Candidate = Candidate> {
  readonly candidate: C;
  readonly version: number;
}

export type Plan<C extends Candidate = Candidate> =
  /** Leave the target as it is. */
  | { readonly action: "keep" }
  /** The target should hold exactly these keys, all of which it holds by its annotations: see that it does, or write. */
  | { readonly action: "verify"; readonly entries: readonly Entry<C>[] }
  | { readonly action: "write"; readonly entries: readonly Entry<C>[] }
  | { readonly action: "delete"; readonly uid: string; readonly resourceVersion: string };

export interface Decision<C extends Candidate = Candidate> {
  readonly plan: Plan<C>;
  readonly readyCondition: ReadyCondition;
}

/** Keys that Kubernetes demands of a Secret of these types. */
const requiredKeys = new Map([
  ["kubernetes.io/tls", ["tls.crt", "tls.key"]],
  ["kubernetes.io/dockerconfigjson", [".dockerconfigjson"]],
  ["kubernetes.io/dockercfg", [".dockercfg"]],
  ["kubernetes.io/ssh-auth", ["ssh-privatekey"]],
]);

function missingKeys(resource: SyncResource, having: readonly { readonly targetKey: string }[]): string[] {
  const keys = new Set(having.map(({ targetKey }) => targetKey));
  return (requiredKeys.get(resource.target.type ?? "") ?? []).filter((key) => !keys.has(key));
}

/** The vault removed the source, and the resource wants its key to go with it. */
const isDropped = ({ whenRemoved }: SyncResource, { state }: Resolution): boolean =>
  state === "removed" && whenRemoved === "Delete";

/** Whether these are the bytes wanted: of the same entry and version, and not of an earlier life of its name. */
function holds({ version, source, createdAt }: SyncedKey, item: SyncItem, fetch: Fetch): boolean {
  const listed = fetch.candidate.createdAt?.get(fetch.version);
  const sameLife = createdAt === undefined || listed === undefined || createdAt === listed;
  return version === fetch.version && source === sourceId(item.source, fetch.candidate.owner) && sameLife;
}

function entryOf<C extends Candidate>(
  resource: SyncResource,
  resolution: Resolution<C>,
  synced: ReadonlyMap<string, SyncedKey>,
): Entry<C> | undefined {
  const { item } = resolution;
  const { targetKey } = item;
  const current = synced.get(targetKey);
  if (resolution.state === "found") {
    const fetch = { candidate: resolution.candidate, version: resolution.version };
    return current !== undefined && holds(current, item, fetch)
      ? { from: "target", targetKey, synced: current, item, refetch: fetch }
      : { from: "vault", targetKey, item, fetch };
  }
  if (isDropped(resource, resolution)) return undefined;
  return current && { from: "target", targetKey, synced: current, item, refetch: undefined };
}

/** The sizes the list gives, summed; `undefined` where it gives none (secrets). */
function listedBytes(resolutions: readonly Resolution[]): number | undefined {
  let total: number | undefined;
  for (const resolution of resolutions) {
    const size = resolution.state === "found" ? resolution.candidate.sizes?.get(resolution.version) : undefined;
    if (size !== undefined) total = (total ?? 0) + size;
  }
  return total;
}

export const tooLarge = (bytes: number): ReadyCondition =>
  notReady(
    "TooLarge",
    `the content has ${bytes} bytes, a Secret or ConfigMap can store at most ${MAX_TARGET_BYTES}: split it over several targets`,
  );

/** Somebody else's object has the target's name; `holder` is who it belongs to, where that is known. */
export const targetConflict = ({ target }: SyncResource, holder: string | undefined): ReadyCondition =>
  notReady(
    "TargetConflict",
    `the ${target.kind} ${target.name} already exists and ${holder === undefined ? "is not managed by this operator: choose another target.name, or delete it" : `belongs to ${holder}: choose another target.name`}`,
  );

/** Reasons to leave the target alone, whatever the items say. */
function obstacle(resource: SyncResource, resolutions: readonly Resolution[], target: TargetState): ReadyCondition | undefined {
  const missing = missingKeys(resource, resource.items);
  if (missing.length > 0) {
    return notReady(
      "InvalidSpec",
      `spec.data: a Secret of type ${resource.target.type} requires the keys ${missing.join(" and ")}`,
    );
  }
  if (target.state === "foreign") return targetConflict(resource, target.owner);
  const bytes = listedBytes(resolutions);
  return bytes !== undefined && bytes > MAX_TARGET_BYTES ? tooLarge(bytes) : undefined;
}

/**
 * What to do about one resource: pure and total. `resolutions` has one entry an item, in the order of the spec.
 * A target is born whole: while an item can't be had and there is no target yet, none is written. An existing target keeps the bytes of
 * items that can't be had, and follows the others; where its annotations no longer say which bytes those are, it is left alone.
 * Source: design, "What goes away in the vault".
 */
export function decide<C extends Candidate>(
  resource: SyncResource,
  resolutions: readonly Resolution<C>[],
  target: TargetState,
): Decision<C> {
  const blocked = obstacle(resource, resolutions, target);
  if (blocked !== undefined) return { plan: { action: "keep" }, readyCondition: blocked };
  const readyCondition = readyConditionOf(resolutions);
  const synced = target.state === "owned" ? target.synced : new Map<string, SyncedKey>();
  const entries = resolutions.flatMap((resolution) => entryOf(resource, resolution, synced) ?? []);
  if (entries.length === 0) {
    const allDropped = resolutions.length > 0 && resolutions.every((resolution) => isDropped(resource, resolution));
    if (target.state !== "owned" || !allDropped) return { plan: { action: "keep" }, readyCondition };
    return { plan: { action: "delete", uid: target.uid, resourceVersion: target.resourceVersion }, readyCondition };
  }
  // Without a key that its type demands the API server would refuse it: it stays as it is until the key is back, or all are gone.
  if (missingKeys(resource, entries).length > 0) return { plan: { action: "keep" }, readyCondition };
  if (target.state === "absent") {
    const whole = resolutions.every(({ state }) => state === "found" || state === "removed");
    return { plan: whole ? { action: "write", entries } : { action: "keep" }, readyCondition };
  }
  const lossless = resolutions.every((resolution) => resolution.state === "found" || isDropped(resource, resolution));
  if (target.state === "owned" && target.annotationsCorrupted && !lossless) return { plan: { action: "keep" }, readyCondition };
  const unchanged = entries.length === synced.size && entries.every((entry) => entry.from === "target");
  return { plan: { action: unchanged ? "verify" : "write", entries }, readyCondition };
}
