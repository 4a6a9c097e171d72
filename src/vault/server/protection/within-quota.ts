import type { Limits } from "../limits.ts";
import { errors } from "../errors.ts";
import type { Store, Transaction } from "../store/store.ts";

const COUNTED = ["secrets", "versions", "bytes", "grants"] as const;

/**
 * Part of the quotas of an account that other users who may write its secrets can reach: the rest
 * is left to the account.
 */
const SHARE_OF_OTHERS = 0.9;

/** Returns the part of a quota that a user can reach who writes a secret of an account. */
export function reachableQuota(quota: number, owner: string, writer: string): number {
  return writer === owner ? quota : quota * SHARE_OF_OTHERS;
}

interface Change {
  readonly owner: string;
  /** The user who makes the change; by default the owner. */
  readonly writer?: string;
  /** Takes entries out of the trash of the owner. */
  readonly restores?: boolean;
}

/**
 * Runs a change of the data that an account owns, by itself or by another writer. What is in its
 * trash does not count (`trimTrash` limits it). An amount may be over a quota that was lowered, but
 * not grow then. The amounts are read in the same transaction: concurrent requests cannot exceed a
 * quota together.
 * @throws ServiceError `quota_exceeded`
 */
export async function withinQuota<T>(
  { limits: { quotas } }: { readonly limits: Pick<Limits, "quotas"> },
  { usage, trash }: Transaction,
  { owner, writer = owner, restores = false }: Change,
  change: () => Promise<T>,
): Promise<T> {
  // Statements run in the order of their calls: the amounts are those before the change.
  const [before, result] = await Promise.all([usage.of(owner), change()]);
  const after = await usage.of(owner);
  const over = COUNTED.filter(
    (name) =>
      after[name] > reachableQuota(quotas[name], owner, writer) &&
      (restores || after[name] > before[name]),
  );
  if (over.length === 0) return result;
  const trashed = await trash.usage(owner);
  for (const name of over) {
    if (after[name] - trashed[name] > reachableQuota(quotas[name], owner, writer))
      throw errors.quotaExceeded(name, quotas[name]);
  }
  return result;
}

/**
 * Requires that the account may store more bytes, including its uploads in progress.
 * @throws ServiceError `quota_exceeded`
 */
export async function requireFreeBytes(
  { store, limits: { quotas } }: { readonly store: Store; readonly limits: Pick<Limits, "quotas"> },
  owner: string,
): Promise<void> {
  const bytes = await store.read(
    async ({ usage, files, trash }) => {
      const stored = (await usage.of(owner)).bytes + (await files.stagedBytes(owner));
      return stored > quotas.bytes ? stored - (await trash.usage(owner)).bytes : stored;
    },
    { account: owner },
  );
  if (bytes > quotas.bytes) throw errors.quotaExceeded("bytes", quotas.bytes);
}
