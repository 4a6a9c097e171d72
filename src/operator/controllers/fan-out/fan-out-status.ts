import { findCondition, type ConditionNow } from "../../api/conditions.ts";
import {
  clusterFileStatus,
  clusterSecretStatus,
  type FanOutStatus,
  MAX_STATUS_FAILURES,
} from "../../api/fan-out.ts";
import { isReason, isStalled, type Reason } from "../../api/reasons.ts";
import { type Condition, type ConditionType } from "../../api/status.ts";
import { defined } from "../../lib/defined.ts";
import { attemptStatus } from "../../sync/attempt-status.ts";
import { notReady, type ReadyCondition, SUSPENDED } from "../../sync/ready-condition.ts";
import { withoutDeadlines } from "../../sync/sync-status.ts";
import { entriesOf, type SyncKind } from "../../sync/sync-key.ts";
import type { SyncResource } from "../../sync/sync-resource.ts";
import { MAX_STATUS_ITEMS } from "../../api/status.ts";
import { isInTarget, type ItemStatus, keyOf, type SyncStatus } from "../../sync/stored-status.ts";
import { firstOf } from "../../lib/first-of.ts";

/** The state of a resource in one namespace. */
export interface Part {
  readonly namespace: string;
  /** `undefined` before the first reconcile of this process. */
  readonly status: SyncStatus | undefined;
}

interface Input {
  readonly resource: Pick<
    SyncResource,
    "suspend" | "generation" | "forceSync" | "target" | "whenRemoved"
  >;
  /** The condition of a spec that is not valid. */
  readonly invalid: ReadyCondition | undefined;
  /** The namespaces that the spec selects and that exist, by name. */
  readonly parts: readonly Part[];
  /** Names in the spec without a namespace. */
  readonly absent: readonly string[];
  /** In milliseconds since the epoch. */
  readonly now: number;
}

/** Conditions that the status has if any namespace has them, with the message of the first one. */
const SHARED: readonly ConditionType[] = [
  "Stale",
  "RemovalsHeld",
  "UpdateAvailable",
  "Held",
  "ExpiringSoon",
];

/** Parses a stored status. A malformed one counts as empty and is rewritten. */
export const readFanOutStatus = (kind: SyncKind, status: unknown): FanOutStatus =>
  (entriesOf(kind) === "secret" ? clusterSecretStatus : clusterFileStatus).safeParse(status ?? {})
    .data ?? {};

/** Reports whether this process has reconciled a namespace for this generation of the spec. */
export const isKnown = ({ status }: Part, generation: number): boolean =>
  status?.observedGeneration === generation && status.conditions !== undefined;

const readyOf = ({ status }: Part): Condition | undefined =>
  findCondition(status?.conditions, "Ready");

/** Reports whether a namespace has what this generation requests, or says why not. */
function isDecided(part: Part, generation: number): boolean {
  const ready = readyOf(part);
  if (ready === undefined || !isKnown(part, generation)) return false;
  return ready.status !== "True" || (ready.observedGeneration ?? generation) === generation;
}

/**
 * Reports whether this process has only tried so far what it retries now: what an earlier one said
 * of this generation is all that is known of a namespace.
 */
const isRetried = (part: Part, generation: number): boolean =>
  isKnown(part, generation) && readyOf(part) === undefined;

/** A namespace whose target is not in sync. */
interface Failure {
  readonly namespace: string;
  readonly reason: Reason;
  readonly message: string;
  readonly isStalled: boolean;
}

function failureOf(part: Part): Failure[] {
  const ready = readyOf(part);
  if (ready === undefined || ready.status === "True") return [];
  const { reason, message } = ready;
  const stalled = findCondition(part.status?.conditions, "Stalled") !== undefined;
  return isReason(reason)
    ? [{ namespace: part.namespace, reason, message, isStalled: stalled || isStalled(reason) }]
    : [];
}

const namespacesText = (count: number): string =>
  `${count} ${count === 1 ? "namespace" : "namespaces"}`;

/** Says which names of the spec have no namespace yet. */
function absentText(absent: readonly string[]): string {
  if (absent.length === 0) return "";
  return `; no namespace has the name ${firstOf(absent)}`;
}

/** Returns the condition Ready of a resource with namespaces that are not decided. */
function pendingCondition(
  { conditions, namespaces }: FanOutStatus,
  { resource: { generation }, parts, absent }: Input,
  pending: readonly Part[],
): ReadyCondition | undefined {
  // What was said of fewer namespaces says nothing of a new one.
  const wasDecided =
    findCondition(conditions, "Ready")?.observedGeneration === generation &&
    namespaces?.selected === parts.length;
  if (wasDecided && pending.every((part) => isRetried(part, generation))) return undefined;
  const counts = `${pending.length} of ${namespacesText(parts.length)}`;
  return notReady("Progressing", `${counts} not synced yet${absentText(absent)}`);
}

/** Returns the condition Ready; `undefined`: it stays unchanged, because nothing new is known. */
function readyCondition(
  before: FanOutStatus,
  input: Input,
  failures: readonly Failure[],
): ReadyCondition | undefined {
  const { resource, invalid, parts, absent } = input;
  if (invalid !== undefined) return invalid;
  if (resource.suspend) return SUSPENDED;
  const pending = parts.filter((part) => !isDecided(part, resource.generation));
  // Access is a decision of the connection: what it does not allow is not awaited.
  const awaited = failures.filter(({ reason }) => reason !== "NamespaceNotAllowed");
  const [worst] = [...awaited].sort((a, b) => Number(b.isStalled) - Number(a.isStalled));
  const all = namespacesText(parts.length);
  if (worst !== undefined)
    return notReady(
      worst.reason,
      `${awaited.length} of ${all} not in sync; ${worst.namespace}: ${worst.message}`,
    );
  if (pending.length > 0) return pendingCondition(before, input, pending);
  const denied = failures.length;
  const [first] = failures;
  if (first !== undefined && denied === parts.length)
    return notReady(first.reason, `${first.namespace}: ${first.message}`);
  const allowed =
    first === undefined
      ? ""
      : `; the connection does not allow ${namespacesText(denied)}, such as ${first.namespace}`;
  const message =
    parts.length === 0
      ? `the spec selects no namespace${absentText(absent)}`
      : `the targets of ${namespacesText(parts.length - denied)} are in sync with the vault${allowed}${absentText(absent)}`;
  return { ready: true, reason: "Synced", message };
}

/** Returns the first condition of a type that a namespace has, with the name of the namespace. */
function sharedCondition(parts: readonly Part[], type: ConditionType): ConditionNow[] {
  for (const { namespace, status } of parts) {
    const found = findCondition(status?.conditions, type);
    if (found === undefined || !isReason(found.reason)) continue;
    const { status: value, reason, message } = found;
    return [{ type, status: value, reason, message: `${namespace}: ${message}` }];
  }
  return [];
}

/**
 * Returns what the status shows of all namespaces: the target that all have, and the items of one in
 * sync. A later process begins with them: they say which deadlines were listed.
 */
function sharedFacts(before: FanOutStatus, input: Input): object {
  const { resource, parts } = input;
  const { kind, name } = resource.target;
  const isInAll = parts.every(
    ({ status }) => status?.target?.kind === kind && status.target.name === name,
  );
  const target = isInAll && parts.length > 0 ? { kind, name } : before.target;
  const shown = parts.filter(({ status }) => status?.items !== undefined);
  const [one] = shown.toSorted((a, b) => rankOf(a) - rankOf(b));
  if (one?.status === undefined) return { target, ...formerFacts(before, input) };
  const { connection, items, itemsOmitted } = one.status;
  return { target, connection, ...withItemsOfOthers(shown, connection, items, itemsOmitted) };
}

/** Returns the place of a namespace among those whose items are shown: the one in sync is first. */
function rankOf(part: Part): number {
  const { status, reason } = readyOf(part) ?? {};
  if (status === "True") return 0;
  // It shows no deadlines.
  return reason === "NamespaceNotAllowed" ? 2 : 1;
}

/** Returns what was shown while nothing else is known. Without namespaces, no list is followed. */
function formerFacts({ connection, items, itemsOmitted }: FanOutStatus, input: Input): object {
  const areFollowed = input.parts.length > 0 || input.resource.whenRemoved === "Retain";
  return { connection, items: areFollowed ? items : withoutDeadlines(items), itemsOmitted };
}

/** Adds what rules find in other namespaces only: a later process has to know its deadlines. */
function withItemsOfOthers(
  parts: readonly Part[],
  connection: string | undefined,
  items: SyncStatus["items"],
  itemsOmitted: number | undefined,
): object {
  if (items === undefined) return { items, itemsOmitted };
  const all = new Map<string, ItemStatus>();
  const add = (item: ItemStatus): void => {
    const id = JSON.stringify([keyOf(item), "filename" in item ? item.filename : item.key]);
    const known = all.get(id);
    // A namespace that never had the bytes of a name does not hide that others have them.
    if (known === undefined || (isInTarget(item) && !isInTarget(known))) all.set(id, item);
  };
  items.forEach(add);
  for (const { status } of parts)
    if (status?.connection === connection) (status?.items ?? []).forEach(add);
  const shown = [...all.values()].slice(0, MAX_STATUS_ITEMS);
  const omitted = (itemsOmitted ?? 0) + all.size - shown.length;
  return { items: shown, itemsOmitted: omitted === 0 ? undefined : omitted };
}

/** Returns the time of the last change of a target in any namespace. */
const lastSynced = (parts: readonly Part[]): string | undefined =>
  parts
    .flatMap(({ status }) => status?.syncedAt ?? [])
    .sort()
    .at(-1);

/** Returns the status of a resource from the statuses of its namespaces. It equals `before` if it is the same. */
export function nextFanOutStatus(before: FanOutStatus, input: Input): object {
  const { resource, parts, now } = input;
  const known = parts.filter((part) => isKnown(part, resource.generation));
  const failures = known.flatMap(failureOf);
  const ready = readyCondition(before, input, failures);
  const { conditions, observedGeneration } = attemptStatus(before, {
    readyCondition: ready,
    reconciling: sharedCondition(parts, "Reconciling")[0],
    items: SHARED.flatMap((type) => sharedCondition(parts, type)),
    consequence: "",
    generation: resource.generation,
    isOverdue: failures.some((one) => one.isStalled && one.reason === ready?.reason),
    now,
  });
  const { forceSync } = resource;
  const isEchoed = parts.every(({ status }) => status?.lastForceSync === forceSync);
  const approvalDigest = parts
    .map(({ status }) => status?.approvalDigest)
    .find((digest) => digest !== undefined);
  return defined({
    observedGeneration,
    conditions,
    ...sharedFacts(before, input),
    namespaces: {
      selected: parts.length,
      ready: parts.filter(
        (part) => isDecided(part, resource.generation) && readyOf(part)?.status === "True",
      ).length,
      failed: failures.length,
    },
    failures:
      failures.length === 0
        ? undefined
        : failures
            .slice(0, MAX_STATUS_FAILURES)
            .map(({ namespace, reason, message }) => ({ namespace, reason, message })),
    approvalDigest,
    lastForceSync: (isEchoed ? forceSync : undefined) ?? before.lastForceSync,
    syncedAt: lastSynced(parts) ?? before.syncedAt,
  });
}
