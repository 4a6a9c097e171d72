import { isDeepStrictEqual } from "node:util";
import { parseDuration } from "../../../src/operator/lib/duration.ts";
import { findCondition } from "../../../src/operator/api/conditions.ts";
import { CONFIG_MAPS, type KubeObject, SECRETS } from "../../../src/operator/kube/resource.ts";
import { isReason, isStalled } from "../../../src/operator/api/reasons.ts";
import { awaitsFirstTarget } from "../first-targets.ts";
import { SLOWEST_MS, USUAL_MS } from "../networks.ts";
import { Violation, type World } from "../world.ts";
import { type Item, itemsOf, hasGate, outputsOf, type Spec, specOf } from "./spec-items.ts";
import { contentOf } from "./target-write.ts";

/** Time after the end of a freeze in which a status may be from before, in milliseconds. */
const REPORT_MS = 90_000;

interface ItemStatus {
  readonly secretKey?: string;
  readonly key?: string;
  readonly filename?: string;
  readonly owner?: string;
  readonly version?: number;
  readonly latest?: number;
  readonly otherVault?: boolean;
  readonly unconfirmed?: boolean;
}

interface Status {
  readonly observedGeneration?: number;
  readonly conditions?: [];
  readonly connection?: string;
  readonly syncedAt?: string;
  readonly lastForceSync?: string;
  readonly target?: {
    readonly kind: string;
    readonly name: string;
    readonly resourceVersion?: string;
  };
  readonly items?: readonly ItemStatus[];
  readonly itemsOmitted?: number;
}

/** Returns a status without what it says of pods. */
export function withoutProof(status: unknown = {}): object {
  const { conditions = [], ...others } = status as { conditions?: readonly { type: string }[] };
  const kept = conditions.filter(({ type }) => type !== "Converged");
  return { ...others, conditions: kept, formerTargets: undefined };
}

const withoutRestarts = (status: unknown): object => ({
  ...withoutProof(status),
  restarts: undefined,
});

/**
 * A status is true when the operator reports it (I3, I4, I13). Returns whether the resource is in
 * sync according to it.
 */
export function checkStatus(
  world: World,
  name: string,
  before: KubeObject | undefined,
  after: KubeObject,
): boolean {
  const now = (after["status"] ?? {}) as Status;
  checkReportedVersions(world, name, before?.["status"] ?? {}, now, after);
  checkStalled(name, now, after);
  const isReady = findCondition(now.conditions, "Ready")?.status === "True";
  const isWaiting = ["Reconciling", "Stale"].some(
    (type) => findCondition(now.conditions, type as "Stale")?.status === "True",
  );
  if (!isReady || isWaiting || now.observedGeneration !== after.metadata.generation) return false;
  // A write of restarts alone reports nothing else again.
  const isSame = isDeepStrictEqual(withoutRestarts(before?.["status"]), withoutRestarts(now));
  if (!isSame) checkReady(world, name, now, after);
  return true;
}

/** Only a resource that never had a target is Stalled by what others may still create (I25). */
function checkStalled(name: string, { conditions }: Status, after: KubeObject): void {
  const stalled = findCondition(conditions, "Stalled");
  if (stalled === undefined || (isReason(stalled.reason) && isStalled(stalled.reason))) return;
  if (!awaitsFirstTarget(after))
    throw new Violation("I25", `${name} had a target, and is Stalled by ${stalled.reason}`);
}

/** A previous version is right below the version of another key of its entry (I13). */
function checkPrevious(name: string, { id, source, leader }: Item, { items = [] }: Status): void {
  const shown = (of: string | undefined): number | undefined =>
    items.find(({ secretKey }) => secretKey === of)?.version;
  const [served, next] = [shown(id), shown(leader?.id)];
  if (served !== undefined && next !== undefined && next !== served + 1)
    throw new Violation(
      "I13",
      `${name} is ready with version ${served} of ${source} before version ${next}`,
    );
}

/**
 * A resource that is Ready has a target in which every key has the reported version: the latest
 * listed one (I13).
 */
function checkReady(world: World, name: string, status: Status, after: KubeObject): void {
  const { items = [], itemsOmitted = 0, target } = status;
  const spec = specOf(after);
  const { namespace } = after.metadata;
  const object = findTarget(world, target, namespace);
  const isCurrent =
    object !== undefined && object.metadata.resourceVersion === target?.resourceVersion;
  const content = isCurrent ? contentOf(object) : undefined;
  const isRendered = spec.target?.template !== undefined;
  const wanted = itemsOf(spec);
  const isFree = spec.hold === undefined && !isGated(world, after);
  for (const one of wanted) {
    const { key, id, member, source, version, absence, isHeld } = one;
    // A version that lacks a member leaves its key to another item.
    const isShared = wanted.some((other) => other.key === key && other.id !== id);
    if (absence === "member" && isShared) continue;
    const item = items.find((each) => (each.secretKey ?? each.key) === id);
    if (absence === "never" && item?.unconfirmed === true)
      throw new Violation("I13", `${name} is ready, but the removal of ${key} is not confirmed`);
    if (
      absence !== "never" &&
      (item?.version === undefined || (content && !isRendered && !(key in content)))
    )
      continue;
    if (item?.otherVault === true && isGated(world, after)) continue;
    if (item !== undefined && isOfNamesake(wanted, one, item)) continue;
    if (item === undefined && itemsOmitted > 0) continue;
    if (item?.version === undefined)
      throw new Violation("I13", `${name} is ready, but reports no version of ${key}`);
    const isOutdated =
      version === "latest" &&
      isHeld !== true &&
      !mayWait(world, spec, status) &&
      !isGated(world, after) &&
      item.version < (item.latest ?? 0);
    if (isOutdated)
      throw new Violation(
        "I3",
        `${name} is ready with version ${item.version} of ${source}, not ${item.latest}`,
      );
    if (isFree) checkPrevious(name, one, status);
    if (!content || isRendered) continue;
    const base64 = content[key] ?? "";
    const origin = world.vaults.origin(base64);
    // The key of an optional source that is not listed keeps the part that an earlier spec named,
    // until its absence is proven.
    const isPart =
      world.vaults.isPart(base64, member) || (absence === "optional" && item.latest === undefined);
    if (!origin?.versions.has(item.version) || origin.name !== source || !isPart)
      throw new Violation(
        "I13",
        `${name} is ready, but ${key} has other bytes than version ${item.version} of ${source}`,
      );
  }
  // A gate keeps the bytes of the vault before.
  const isKept = items.some(({ otherVault }) => otherVault === true) && isGated(world, after);
  const isReported = isRendered && content && !isKept && itemsOmitted === 0;
  for (const { key, items: inputs } of isReported ? outputsOf(spec) : [])
    checkRendered(world, name, content?.[key] ?? "", inputs, items);
}

/** Reports whether another name, of which a rule makes the same key, has that key. */
function isOfNamesake(
  wanted: readonly Item[],
  { key, source, absence }: Item,
  item: ItemStatus,
): boolean {
  const shown = item.filename ?? item.key;
  const isWanted = wanted.some((other) => other.key === key && other.source === shown);
  return absence === "found" && shown !== source && isWanted;
}

/** Reports whether a gate may keep a resource from newer versions. */
const isGated = (world: World, object: KubeObject): boolean =>
  hasGate(specOf(object)) || world.freezes.mayHold(object.metadata.namespace ?? "", REPORT_MS);

/**
 * Every part of a key that a template makes has the version that is reported of its source (I13).
 */
function checkRendered(
  world: World,
  name: string,
  base64: string,
  inputs: readonly Item[],
  items: readonly ItemStatus[],
): void {
  for (const origin of world.vaults.originsIn(base64)) {
    const reported = inputs
      .filter(({ source }) => source === origin.name)
      .map(({ id }) => items.find((each) => (each.secretKey ?? each.key) === id));
    if (reported.some((item) => item?.version !== undefined && origin.versions.has(item.version)))
      continue;
    throw new Violation(
      "I13",
      `${name} is ready, but a template has version ${[...origin.versions].join()} of ${origin.name}`,
    );
  }
}

/**
 * Reports whether a resource need not follow a newer version yet. The clocks of the replicas may
 * differ, and a status arrives later than it was sent.
 */
function mayWait(world: World, { refreshInterval }: Spec, { syncedAt }: Status): boolean {
  if (refreshInterval === undefined) return false;
  const until =
    Date.parse(syncedAt ?? "") + parseDuration(refreshInterval) + 2 * world.greatestSkewMs;
  const { api, apiEndedAt } = world.faults;
  const isSlow = api.has("slow") || world.clock.monotonic() < apiEndedAt + SLOWEST_MS;
  return world.clock.now() < until + (isSlow ? SLOWEST_MS : USUAL_MS + 1);
}

/**
 * The reported version of a source never decreases, unless the spec changes or pins it, or a user
 * accepts it (I4). Whether the content may have this version was checked when it was written.
 */
function checkReportedVersions(
  world: World,
  name: string,
  before: Status,
  now: Status,
  object: KubeObject,
): void {
  const { metadata, kind } = object;
  const spec = specOf(object);
  if (before.connection !== now.connection || before.observedGeneration !== now.observedGeneration)
    return;
  const accepted = world.acceptedBy(metadata.namespace, `${kind}/${metadata.name}`);
  const pinned = new Set(
    itemsOf(spec).flatMap(({ id, version }) => (version === "latest" ? [] : [id])),
  );
  const target = findTarget(world, now.target, metadata.namespace);
  const content = target && contentOf(target);
  for (const item of now.items ?? []) {
    if (pinned.has(item.secretKey ?? item.key ?? "")) continue;
    const same = before.items?.find(
      (each) =>
        each.secretKey === item.secretKey &&
        each.key === item.key &&
        each.filename === item.filename,
    );
    if (same?.version === undefined || item.version === undefined || same.owner !== item.owner)
      continue;
    const keys = itemsOf(spec).flatMap(({ id, key }) =>
      id === (item.secretKey ?? item.key) ? [key] : [],
    );
    const isWritten = keys.some((key) =>
      world.vaults
        .originsIn(content?.[key] ?? "")
        .some(({ versions }) => versions.has(item.version!)),
    );
    if (
      isWritten ||
      item.version >= same.version ||
      accepted.has(`${item.filename ?? item.key}@${item.version}`)
    )
      continue;
    throw new Violation(
      "I4",
      `${name}: ${item.filename ?? item.key} went from version ${same.version} to ${item.version}`,
    );
  }
}

function findTarget(
  world: World,
  target: Status["target"],
  namespace: string | undefined,
): KubeObject | undefined {
  return (
    target &&
    world.server.find(target.kind === "Secret" ? SECRETS : CONFIG_MAPS, {
      namespace,
      name: target.name,
    })
  );
}
