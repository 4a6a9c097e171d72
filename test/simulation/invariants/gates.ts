import { FORCE_SYNC_ANNOTATION } from "../../../src/operator/api/names.ts";
import { isForCluster } from "../../../src/operator/config.ts";
import { parseDuration } from "../../../src/operator/lib/duration.ts";
import { findOwner, isFanOut } from "../fanned-out.ts";
import { selects } from "../selectors.ts";
import { Violation } from "../world.ts";
import { withoutHold } from "./holds.ts";
import { isOutside, type Item, needsApproval, outputsOf, type Spec } from "./spec-items.ts";
import { mergedInto, type TargetWrite, versionIn } from "./target-write.ts";

/** Time after which the operator knows a change, in milliseconds; see `SpecHistory`. */
const LAG_MS = 90_000;
/** Time after which a replica that takes over has the last status, with an open watch. */
const STATUS_LAG_MS = 10_000;

/**
 * Reports whether the replica must know that the namespace is frozen, and for a while longer. A
 * wrong clock says nothing about the end.
 */
function isFrozen({ world, history, user, namespace }: TargetWrite): boolean {
  const { clock, replicas, freezes } = world;
  if (world.greatestSkewMs > 0) return false;
  const now = replicas.suspendedAt(user, LAG_MS) ?? clock.monotonic();
  const knownAt = now - LAG_MS - world.watchDelayMs();
  const readsNamespaces = isForCluster(replicas.configOf(user));
  const labels = history.recentLabels(namespace);
  return freezes.since(namespace, clock.monotonic()).some((freeze) => {
    const { selector, from, to, until } = freeze;
    const isKnown = from <= knownAt && to === Infinity && until > clock.now() + LAG_MS;
    if (freeze.namespace !== undefined) return isKnown && readsNamespaces;
    const isSelected =
      selector === undefined || !readsNamespaces || labels.every((one) => selects(selector, one));
    return isKnown && isSelected;
  });
}

/** Reports whether the windows of a resource are closed for so long that no write is from before. */
function isLongOutside({ world }: TargetWrite, spec: Spec): boolean {
  const { clock, greatestSkewMs } = world;
  if (greatestSkewMs > 0 || world.watchDelayMs() === Infinity) return false;
  return [0, LAG_MS / 2, LAG_MS].every((ms) => isOutside(spec, clock.now() - ms));
}

/**
 * Reports whether the last status of a resource is of its present spec, or empty: another party has
 * removed it, and that decides nothing.
 */
function isReported({ world, namespace, owner }: TargetWrite): boolean {
  const object = findOwner(world.server, namespace, owner);
  const { observedGeneration } = (object?.["status"] ?? {}) as { observedGeneration?: number };
  const isEmpty = (observedGeneration ?? -1) < 0;
  return object !== undefined && (isEmpty || observedGeneration === object.metadata.generation);
}

/** The part of a status about the last syncs. */
interface SyncTimes {
  readonly lastForceSync?: string;
  readonly syncedAt?: string;
}

/**
 * Reports whether the target of a resource changed less than its `refreshInterval` ago, as every
 * replica must know. A forced sync does not wait, and the status of a resource for several
 * namespaces has the time of any of them.
 */
function isRefreshed(
  { world, user, namespace, owner }: TargetWrite,
  specs: readonly Spec[],
): boolean {
  const object = findOwner(world.server, namespace, owner);
  if (object === undefined || isFanOut(object.kind) || world.greatestSkewMs > 0) return false;
  if (world.replicas.suspendedAt(user, LAG_MS) !== undefined) return false;
  const { lastForceSync, syncedAt = "" } = (object["status"] ?? {}) as SyncTimes;
  const forced = object.metadata.annotations?.[FORCE_SYNC_ANNOTATION];
  const ageMs = world.clock.now() - Date.parse(syncedAt);
  return (
    forced === lastForceSync &&
    ageMs > STATUS_LAG_MS + world.watchDelayMs() &&
    specs.every(({ refreshInterval = "0s" }) => ageMs < parseDuration(refreshInterval))
  );
}

/**
 * Reports whether the vault, and not the spec, adds a key. A pinned version waits for nothing, nor
 * does the one before what another key serves.
 */
const isAdded = ({ absence, version, leader }: Item): boolean =>
  (absence === "found" || absence === "optional") &&
  typeof version !== "number" &&
  leader === undefined;

/** Returns what a write does with a key that a gate has to prevent; `undefined`: nothing. */
function changeOf(
  { world, namespace, owner, was, is }: TargetWrite,
  specs: readonly Spec[],
  key: string,
): string | undefined {
  const [before, now = ""] = [was[key], is[key]];
  if (before === now) return undefined;
  const items = specs.flatMap(outputsOf).filter((output) => output.key === key);
  const inputs = items.flatMap((output) => output.items);
  if (before === undefined)
    return inputs.length > 0 && inputs.every(isAdded) ? `got the new key ${key}` : undefined;
  const accepted = world.acceptedBy(namespace, owner);
  const had = world.vaults.originsIn(before);
  for (const origin of world.vaults.originsIn(now)) {
    const ofSource = inputs.filter(({ source }) => source === origin.name);
    const isPinned = ofSource.some(({ version }) => version !== "latest");
    const isAccepted = [...origin.versions].some((one) => accepted.has(`${origin.name}@${one}`));
    if (isPinned || isAccepted || ofSource.length === 0) continue;
    const earlier = versionIn(had, origin);
    if (earlier !== undefined && !origin.versions.has(earlier))
      return `went from version ${earlier} of ${origin.name} to ${[...origin.versions].join()}`;
  }
  return undefined;
}

/**
 * While a gate is closed, no key of a target gets other bytes or is added, and within its
 * `refreshInterval` no key follows a newer version (I24). A changed spec, a changed target and an
 * accepted version are decisions of users. A hold decides about versions, and adds no key.
 */
export function checkGates(write: TargetWrite): void {
  const { history, name, namespace, before, owner, is, isTampered, writtenAt } = write;
  if (!before || isTampered || owner === "" || !isReported(write)) return;
  // The first content waits for nothing: another owner has the object.
  if (write.isMerge && !mergedInto(before).has(owner)) return;
  const specs = history.since(namespace, owner, writtenAt);
  if (new Set(specs.map(withoutHold)).size > 1) return;
  // Without an approval since the last write, no user has approved newer versions.
  const isGated = (spec: Spec): boolean => needsApproval(spec) || isLongOutside(write, spec);
  const isClosed = (specs.length > 0 && specs.every(isGated)) || isFrozen(write);
  if (!isClosed && !(specs.length > 0 && isRefreshed(write, specs))) return;
  const isHeld = specs.some((spec) => spec.hold !== undefined);
  for (const key of Object.keys(is)) {
    const isNew = write.was[key] === undefined;
    if (isNew ? !isClosed : isHeld) continue;
    const change = changeOf(write, specs, key);
    // An approval from before a write that changed no bytes still counts.
    const earlier = history.since(namespace, owner, write.keysAt.get(key) ?? writtenAt);
    const isApproved = new Set(earlier.map(({ approved }) => approved)).size > 1;
    if (change === undefined || isApproved) continue;
    throw new Violation("I24", `${name}: ${key} ${change}, although its gate is closed`);
  }
}
