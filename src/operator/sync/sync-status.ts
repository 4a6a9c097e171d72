import { findCondition } from "../api/conditions.ts";
import { followsLists, isReason, isStalled } from "../api/reasons.ts";
import { MAX_STATUS_ITEMS } from "../api/status.ts";
import { defined } from "../lib/defined.ts";
import { convergedAfter, formerTargets } from "./converged-after.ts";
import { itemConditions } from "./item-conditions.ts";
import { expiriesOf, type Expiry, type Lifetime } from "./expiry.ts";
import { formatTimestamp, parseTimestamp } from "./timestamp.ts";
import {
  earlierItem,
  isInTarget,
  type ItemStatus,
  shownExpiry,
  shownItem,
  type SyncStatus,
} from "./stored-status.ts";
import { attemptStatus, OVERDUE_MS } from "./attempt-status.ts";
import { isDropped } from "./gone-claims.ts";
import type { Report } from "./report.ts";
import { type Candidate, deadlineOf, replacedBy, type Resolution } from "./resolution.ts";
import { entriesOf } from "./sync-key.ts";
import type { SyncItem, SyncResource } from "./sync-resource.ts";

/** Everything that a status is computed from. Timestamps are in milliseconds since the epoch. */
export interface StatusInput extends Report {
  readonly resource: SyncResource;
  /** The resource has had no target for too long; see {@link firstTargetDueInMs}. */
  readonly isOverdue?: boolean;
  /** The operator shows which workloads run the content. */
  readonly provesUse?: boolean;
  /** The status before is the one of all namespaces. */
  readonly isOfOthers?: boolean;
  readonly now: number;
}

/**
 * Returns the version in the target; if there is no target, the last one that it had: a later one
 * must not be lower.
 */
function lastVersion(
  before: SyncStatus,
  { versions, connection, isOfOthers = false }: StatusInput,
  resolution: Resolution,
): number | undefined {
  const { state, item } = resolution;
  const current = versions.get(item.id);
  if (
    current !== undefined ||
    (isOfOthers && versions.size > 0) ||
    state === "removed" ||
    isDropped(resolution) ||
    before.connection !== connection
  )
    return current;
  const earlier = earlierItem(before, item);
  return earlier?.owner === ownerOf(before, resolution) ? earlier?.version : undefined;
}

/** Returns the other account that created the source, or that created it when it was served. */
function ownerOf(before: SyncStatus, resolution: Resolution): string | undefined {
  if (resolution.state !== "found") return earlierItem(before, resolution.item)?.owner;
  return otherOwner(resolution.candidate);
}

const otherOwner = ({ own, owner }: Candidate): string | undefined => (own ? undefined : owner);

/**
 * Returns the lifetime of the certificate that the target has of an item: the one that was read, or
 * the one that the status shows of this version.
 */
function certificateOf(
  before: SyncStatus,
  { certificates, versions, connection }: Pick<Report, "certificates" | "versions" | "connection">,
  item: SyncItem,
): Lifetime | undefined {
  if (certificates.has(item.id)) return certificates.get(item.id);
  const shown = before.connection === connection ? shownItem(before, item) : undefined;
  const to = parseTimestamp(shown?.notAfter);
  if (to === undefined || shown?.version !== versions.get(item.id)) return undefined;
  return { from: parseTimestamp(shown?.notBefore), to };
}

/**
 * Returns when the version that the target has of an entry expires, or is to have if it has none. A
 * list says it of the latest version only, the status of those that were the latest.
 */
function expiresAtOf(
  before: SyncStatus,
  { versions, connection }: Pick<Report, "versions" | "connection">,
  one: Resolution,
): number | undefined {
  if (!("candidate" in one)) return undefined;
  const { item, candidate } = one;
  const version = versions.get(item.id) ?? (one.state === "found" ? one.version : undefined);
  const isRecreated = one.state === "found" && one.isRecreated === true;
  if (version === candidate.latest && !isRecreated) return candidate.expiresAt;
  if (version === undefined || before.connection !== connection) return undefined;
  return shownExpiry(before, { source: item.source, owner: otherOwner(candidate), version });
}

/** Returns what expires of the items of a resource; nothing if they were not resolved. */
export const reportedExpiries = (
  before: SyncStatus,
  report: Report,
  resource: SyncResource,
): readonly Expiry[] =>
  expiriesOf(resource, report.resolutions ?? [], {
    certificateOf: (item) => certificateOf(before, report, item),
    expiresAtOf: (one) => expiresAtOf(before, report, one),
  });

function itemStatus(before: SyncStatus, input: StatusInput, resolution: Resolution): ItemStatus {
  const { id, source } = resolution.item;
  const candidate = "candidate" in resolution ? resolution.candidate : undefined;
  const certificate = certificateOf(before, input, resolution.item);
  const facts = defined({
    version: lastVersion(before, input, resolution),
    otherVault: input.ofOtherVault.has(id) || undefined,
    unconfirmed: input.unconfirmed.has(id) || undefined,
    latest: candidate?.latest,
    expiresAt: formatTimestamp(expiresAtOf(before, input, resolution)),
    notBefore: formatTimestamp(certificate?.from),
    notAfter: formatTimestamp(certificate?.to),
    deleteAt: formatTimestamp(deadlineOf(resolution)),
  });
  if (entriesOf(input.resource.kind) === "file") return { key: id, filename: source, ...facts };
  // Without bytes, the deadline is of the entry that lacks the version.
  const owner =
    resolution.state === "no-version" && !isInTarget({ secretKey: id, key: source, ...facts })
      ? otherOwner(resolution.candidate)
      : ownerOf(before, resolution);
  return { secretKey: id, key: source, ...defined({ owner }), ...facts };
}

/** Orders resolutions by deadline; those without one come last. */
const byDeadline = (one: Resolution, other: Resolution): number =>
  (deadlineOf(one) ?? Number.MAX_VALUE) - (deadlineOf(other) ?? Number.MAX_VALUE);

/**
 * Returns the items that a status can show. Those with a problem come first if it cannot show all,
 * then those with the next deadlines: a restart needs to know them.
 */
function shownItems(resolutions: readonly Resolution[]): readonly Resolution[] {
  const items = resolutions.filter(({ state }) => state !== "unmatched" && state !== "unusable");
  if (items.length <= MAX_STATUS_ITEMS) return items;
  return [
    ...items.filter(({ state }) => state !== "found"),
    ...items.filter(({ state }) => state === "found").toSorted(byDeadline),
  ];
}

/** Reports whether the target has another version than `before` shows: a write was not reported. */
function hasOtherVersions(
  before: SyncStatus,
  { resource, resolutions, versions }: StatusInput,
): boolean {
  const items = resolutions?.map(({ item }) => item) ?? resource.items;
  return items.some((item) => {
    const [earlier, now] = [earlierItem(before, item)?.version, versions.get(item.id)];
    return earlier !== undefined && now !== undefined && earlier !== now;
  });
}

/**
 * Reports whether the bytes differ from the last status: a process changed them and ended before it
 * wrote the status.
 */
function hasOtherBytes(before: SyncStatus, { digest, verified }: StatusInput): boolean {
  const shown = before.target?.digest;
  return verified !== undefined && digest !== undefined && shown !== undefined && digest !== shown;
}

/**
 * Returns the target that was in sync last, until another one is: it exists, and has to be removed
 * then. Its resourceVersion names the last write for this generation of the spec, or the last
 * verified state if there was no write. A process whose watch still shows that state reports its
 * versions.
 */
function targetStatus(
  before: SyncStatus,
  input: StatusInput,
  generation: number,
): SyncStatus["target"] {
  const { resource, verified, effect } = input;
  const { kind, name } = resource.target;
  const { target = { kind, name } } = before;
  const isShown = target.kind === kind && target.name === name;
  const isSame = isShown && before.observedGeneration === generation;
  const isKnown = isSame && effect === "none" && !hasOtherVersions(before, input);
  const known = isKnown ? target.resourceVersion : undefined;
  const digest = input.digest ?? target.digest;
  if (verified !== undefined)
    return { kind, name, resourceVersion: known ?? verified, ...defined({ digest }) };
  return {
    kind: target.kind,
    name: target.name,
    ...defined({
      resourceVersion: known,
      digest: isShown ? digest : (input.formerDigest ?? target.digest),
    }),
  };
}

/** Reports whether the target that was in sync last is the one that the spec requests. */
export const showsTarget = (
  { target }: SyncStatus,
  { target: { kind, name } }: SyncResource,
): boolean => target?.kind === kind && target.name === name;

/**
 * Reports whether the content of this state of the target was verified for this generation of the
 * spec: it need not be read after a restart.
 */
export function isVerifiedBy(
  status: SyncStatus,
  resource: SyncResource,
  resourceVersion: string,
): boolean {
  const isCurrent =
    showsTarget(status, resource) &&
    status.observedGeneration === resource.generation &&
    status.target?.resourceVersion === resourceVersion;
  return isCurrent && status.target?.digest !== undefined;
}

/** Reports whether a resource had a target that was in sync. */
export const hadTarget = ({ target }: SyncStatus): boolean => target?.digest !== undefined;

/**
 * Returns the time in milliseconds after which a resource that never had a target is Stalled: what
 * it lacks may have been created together with it. 0 if the status shows that it is.
 *
 * @param waitedMs time for which this process has seen this generation without a target
 */
export function firstTargetDueInMs(
  { conditions, observedGeneration }: SyncStatus,
  generation: number,
  waitedMs: number,
): number {
  const stalled = findCondition(conditions, "Stalled")?.reason ?? "";
  const isShown = observedGeneration === generation && isReason(stalled) && !isStalled(stalled);
  return isShown ? 0 : Math.max(0, OVERDUE_MS - waitedMs);
}

/**
 * Returns the status after one reconcile. It equals `before` if nothing changed: the caller can
 * skip the write; see docs/design/status.md#status-writes.
 */
export function nextStatus(before: SyncStatus, report: StatusInput): object {
  const { resource, readyCondition, resolutions, changed, now } = report;
  const isFirst = readyCondition?.ready === true && before.syncedAt === undefined;
  const synced = changed || isFirst || hasOtherBytes(before, report);
  const syncedAt = synced ? new Date(now).toISOString() : before.syncedAt;
  // Without a target nothing is out of date.
  const input = syncedAt === undefined ? { ...report, stale: undefined } : report;
  const attempt = attemptStatus(before, {
    ...input,
    items:
      resolutions &&
      itemConditions(resource, resolutions, reportedExpiries(before, report, resource), now),
    consequence: "the target is kept unchanged",
    generation: resource.generation,
    isOverdue: report.isOverdue === true,
  });
  const { conditions, observedGeneration } = attempt;
  const converged = convergedAfter(before, report, synced, observedGeneration);
  return defined({
    ...attempt,
    conditions: [...conditions.filter(({ type }) => type !== "Converged"), ...converged],
    formerTargets: formerTargets(before, report),
    target: targetStatus(before, input, attempt.observedGeneration),
    ...itemsStatus(before, input),
    approvalDigest:
      input.resolutions === undefined ? before.approvalDigest : pendingDigest(input.resolutions),
    lastForceSync: input.forced ?? before.lastForceSync,
    syncedAt,
    restarts: before.restarts,
  });
}

/** Returns the digest of the versions that wait for an approval. */
const pendingDigest = (resolutions: readonly Resolution[]): string | undefined =>
  resolutions.map((one) => ("gate" in one ? one.gate?.digest : undefined)).find(isText);

const isText = (value: unknown): value is string => typeof value === "string";

/** Returns the entry whose bytes a key has: one that is gone, until another one has replaced it. */
const inTarget = (one: Resolution, { versions }: StatusInput): Resolution =>
  versions.has(one.item.id) ? one : (replacedBy(one) ?? one);

/** Returns what the status shows of the items: the same as before if they were not resolved. */
function itemsStatus(before: SyncStatus, input: StatusInput): object {
  const { resolutions, readyCondition } = input;
  if (resolutions === undefined) {
    const { connection, items, itemsOmitted } = before;
    const areKnown = keepsDeadlines(before, input.resource, readyCondition?.reason);
    return { connection, items: areKnown ? items : withoutDeadlines(items), itemsOmitted };
  }
  const all = shownItems(resolutions.map((one) => inTarget(one, input)));
  const items = all.slice(0, MAX_STATUS_ITEMS).map((one) => itemStatus(before, input, one));
  const omitted = all.length - items.length;
  return {
    connection: input.connection,
    items,
    itemsOmitted: omitted === 0 ? undefined : omitted,
  };
}

/**
 * Reports whether a status still shows the deadlines of a resource whose items were not resolved,
 * for this reason if there is one. When it follows lists again, nothing else says that it did not.
 * Which policy a spec that is not valid has is not known.
 */
function keepsDeadlines(
  before: SyncStatus,
  { whenRemoved }: SyncResource,
  reason: string | undefined,
): boolean {
  if (reason === "NamespaceNotAllowed") return false;
  if (whenRemoved === "Retain" || !followsLists(reason)) return true;
  return followsLists(findCondition(before.conditions, "Ready")?.reason);
}

/**
 * Returns the items without the deadlines of their sources, whose lists the resource does not
 * follow any more.
 */
export function withoutDeadlines(items: SyncStatus["items"]): object[] | undefined {
  return items?.map((item) => defined({ ...item, deleteAt: undefined }));
}

/** Reports whether the last reconcile of this generation found the target in sync. */
export function wasReady(status: SyncStatus, generation: number): boolean {
  const ready = findCondition(status.conditions, "Ready");
  return ready?.status === "True" && ready.observedGeneration === generation;
}

/**
 * Reports whether the annotation vaultsync.dev/force-sync has a value that the status does not echo
 * yet.
 */
export const isForced = ({ forceSync }: SyncResource, before: SyncStatus): boolean =>
  forceSync !== undefined && forceSync !== before.lastForceSync;
