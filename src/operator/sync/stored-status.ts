import type { z } from "zod";
import {
  type FileItemStatus,
  fileStatus,
  type SecretItemStatus,
  secretStatus,
} from "../api/status.ts";
import { entriesOf } from "./sync-key.ts";
import { rewriteKey } from "./rewrite-key.ts";
import type { EarlierName } from "./find-items.ts";
import type { Find, SyncItem, SyncResource } from "./sync-resource.ts";
import { parseTimestamp } from "./timestamp.ts";

/** The status of a VaultSecret or VaultFile. */
export type SyncStatus = z.output<typeof secretStatus> | z.output<typeof fileStatus>;

/** Parses a stored status. A malformed one counts as empty and is rewritten. */
export function readStatus(kind: SyncResource["kind"], status: unknown): SyncStatus {
  return (
    (entriesOf(kind) === "secret" ? secretStatus : fileStatus).safeParse(status ?? {}).data ?? {}
  );
}

/** The state of a key of the target, as a status shows it. */
export type ItemStatus = SecretItemStatus | FileItemStatus;

/** Returns the key of the target that an item of a status is of. */
export const keyOf = (item: ItemStatus): string => ("filename" in item ? item.key : item.secretKey);
/** Returns the name of the source of an item of a status. */
export const sourceOf = (item: ItemStatus): string =>
  "filename" in item ? item.filename : item.key;

/** Reports whether an item shows bytes in the target, of its source or one of another vault. */
export const isInTarget = ({ version, otherVault }: ItemStatus): boolean =>
  version !== undefined || otherVault === true;

/** Returns the names of the sources that a status shows. */
export const reportedNames = ({ items = [] }: SyncStatus): string[] => items.map(sourceOf);

/** Returns the name of the source of a key according to a status. */
export function reportedName({ items = [] }: SyncStatus, key: string): string | undefined {
  const shown = items.find((item) => keyOf(item) === key);
  return shown && sourceOf(shown);
}

/**
 * Returns the owners of the secrets of this name whose bytes the target has, according to a status;
 * "" is the account of the connection.
 */
export const reportedOwners = ({ items = [] }: SyncStatus, source: string): string[] =>
  items.flatMap((item) =>
    "filename" in item || item.key !== source || !isInTarget(item) ? [] : (item.owner ?? ""),
  );

/** Returns the names that a rule found, according to a status: their keys are what it makes of them. */
export const reportedKeys = ({ items = [] }: SyncStatus, { rewrite }: Find): EarlierName[] =>
  items
    .filter((item) => keyOf(item) === rewriteKey(rewrite, sourceOf(item)))
    .map((item) => ({ name: sourceOf(item), key: keyOf(item) }));

/** Returns the same names without their keys. */
export const reportedFinds = (status: SyncStatus, find: Find): string[] =>
  reportedKeys(status, find).map(({ name }) => name);

/** An item according to an earlier status. */
export interface EarlierItem {
  /** Version in the target. */
  readonly version: number | undefined;
  /** The target has bytes of another vault. */
  readonly otherVault?: boolean | undefined;
  /** Creator of the source, if it is not the account of the connection. */
  readonly owner: string | undefined;
  /** Deadline of the source in milliseconds since the epoch. */
  readonly deleteAt: number | undefined;
}

/** Returns what an earlier status shows of an item. */
export const shownItem = (
  { items = [] }: SyncStatus,
  { id, source }: SyncItem,
): ItemStatus | undefined =>
  items.find((entry) => keyOf(entry) === id && sourceOf(entry) === source);

/**
 * Returns an item according to an earlier status; `undefined` if that status does not contain it.
 */
export function earlierItem(status: SyncStatus, item: SyncItem): EarlierItem | undefined {
  const entry = shownItem(status, item);
  if (entry === undefined) return undefined;
  return {
    version: entry.version,
    otherVault: entry.otherVault,
    owner: "owner" in entry ? entry.owner : undefined,
    deleteAt: parseTimestamp(entry.deleteAt),
  };
}

/** Returns when a version of an entry expires according to a status. */
export function shownExpiry(
  { items = [] }: SyncStatus,
  wanted: { readonly source: string; readonly owner: string | undefined; readonly version: number },
): number | undefined {
  const shown = items.find(
    (one) =>
      sourceOf(one) === wanted.source &&
      one.version === wanted.version &&
      ("owner" in one ? one.owner : undefined) === wanted.owner,
  );
  return parseTimestamp(shown?.expiresAt);
}

/** Reports whether a status may omit an item, because it cannot show all. */
export const isOmitted = (status: SyncStatus, item: SyncItem): boolean =>
  status.itemsOmitted !== undefined && shownItem(status, item) === undefined;

/**
 * Reports whether a status shows that the target has bytes of this source that were listed when it
 * was written, or that are to be removed since. A status that does not show all items may.
 * `isClaimed` says whether the target has them, if the status was not written yet.
 */
export function showsServed(
  { whenRemoved, whenMissing, items: wanted }: SyncResource,
  { items = [], itemsOmitted }: SyncStatus,
  source: string,
  isClaimed: () => boolean,
): boolean {
  const isOptional = wanted.some((item) => item.source === source && item.isOptional === true);
  let isShown = false;
  for (const item of items) {
    if (sourceOf(item) !== source) continue;
    isShown = true;
    const policy = isOptional ? "Delete" : item.deleteAt === undefined ? whenMissing : whenRemoved;
    const wasListed = item.latest !== undefined || policy === "Delete";
    if (wasListed && (isInTarget(item) || isClaimed())) return true;
  }
  return !isShown && (itemsOmitted !== undefined || isClaimed());
}

/**
 * Reports whether a status shows that a target has bytes of this source, and that the list lacked it
 * when the status was written. `isClaimed` says whether a target has them, of another spec.
 */
export const showsMissing = (
  { items = [] }: SyncStatus,
  source: string,
  isClaimed: () => boolean,
): boolean => {
  const missing = items.filter((item) => sourceOf(item) === source && item.latest === undefined);
  return missing.some(isInTarget) || (missing.length > 0 && isClaimed());
};

/** Reports whether a status shows that no user has confirmed the removal of the bytes of a key. */
export const isUnconfirmedKey = ({ items = [] }: SyncStatus, key: string): boolean =>
  items.some((item) => keyOf(item) === key && item.unconfirmed === true);

/**
 * Reports whether a status shows that no user has confirmed the removal of bytes of this source. A
 * status that does not show all items may. `hasClaim` says whether a target has bytes of the source
 * under a key that a later spec gave to another one.
 */
export function showsUnconfirmed(
  { items = [], itemsOmitted }: SyncStatus,
  source: string,
  hasClaim: (key: string) => boolean,
): boolean {
  const unconfirmed = items.filter((item) => item.unconfirmed === true);
  if (
    unconfirmed.some(
      (item) => (sourceOf(item) === source && isInTarget(item)) || hasClaim(keyOf(item)),
    )
  )
    return true;
  const isOmittedSource =
    itemsOmitted !== undefined && !items.some((item) => sourceOf(item) === source);
  return isOmittedSource && unconfirmed.length > 0;
}

/** Reports whether a status shows bytes of this source in the target. */
export const showsBytes = ({ items = [] }: SyncStatus, source: string): boolean =>
  items.some((item) => sourceOf(item) === source && isInTarget(item));

/**
 * Reports whether a resource removes a key, or may, when this source is gone: `isDue`, by the vault
 * at its deadline. A resource that did not follow the lists does not know that it is: then either of
 * its policies counts. A status with the source shows whether the target has its bytes. If a complete
 * status of this spec lacks the source, the target has its bytes only if `isClaimed`: the status was
 * not written yet.
 */
export function removesWhenGone(
  { whenRemoved, whenMissing, items: wanted, generation }: SyncResource,
  { items = [], itemsOmitted, observedGeneration }: SyncStatus,
  source: string,
  isDue: boolean,
  isClaimed: () => boolean,
): boolean {
  const isOptional = wanted.some((item) => item.source === source && item.isOptional === true);
  const shown = items.filter((item) => sourceOf(item) === source);
  const mayMiss = !isDue || shown.some(({ deleteAt }) => deleteAt === undefined);
  const isDeleted = (isDue && whenRemoved === "Delete") || (mayMiss && whenMissing === "Delete");
  if (!isOptional && !isDeleted) return false;
  if (shown.length > 0) return shown.some(isInTarget) || isClaimed();
  return itemsOmitted !== undefined || observedGeneration !== generation || isClaimed();
}

/** Returns the deadline of a source according to a status, in milliseconds since the epoch. */
export function reportedDeadline({ items = [] }: SyncStatus, source: string): number | undefined {
  const deadlines = items.flatMap((item) =>
    !("filename" in item) && item.key === source ? (parseTimestamp(item.deleteAt) ?? []) : [],
  );
  return deadlines[0];
}
