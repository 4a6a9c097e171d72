import { type PushItemStatus, type PushStatus, pushStatus } from "../api/vault-push.ts";
import { defined } from "../lib/defined.ts";
import { type Attempt, attemptStatus } from "../sync/attempt-status.ts";

/** Findings and effects of one reconcile of a VaultPush. */
export interface PushReport extends Pick<Attempt, "readyCondition" | "reconciling" | "stale"> {
  /** Identity of the vault and the items that were pushed to it; `undefined`: unchanged. */
  readonly pushed?:
    | { readonly vault: string; readonly items: readonly PushItemStatus[] }
    | undefined;
  /** Value of vaultsync.dev/force-sync, if this reconcile was a forced sync. */
  readonly forced?: string | undefined;
}

/** Parses a stored status. A malformed one counts as empty and is rewritten. */
export function readPushStatus(status: unknown): PushStatus {
  return pushStatus.safeParse(status ?? {}).data ?? {};
}

/**
 * Returns the status after one reconcile. It equals `before` if nothing changed: the caller can
 * skip the write.
 */
export function nextPushStatus(
  before: PushStatus,
  found: PushReport,
  generation: number,
  now: number,
): object {
  // What was never pushed cannot be out of date.
  const report = before.syncedAt === undefined ? { ...found, stale: undefined } : found;
  const { pushed, forced } = report;
  const pushedAt = (pushed?.items ?? []).flatMap((item) => item.pushedAt ?? []);
  return defined({
    ...attemptStatus(before, {
      ...report,
      items: [],
      consequence: "nothing is pushed",
      generation,
      now,
    }),
    vault: pushed?.vault ?? before.vault,
    items: pushed?.items ?? before.items,
    lastForceSync: forced ?? before.lastForceSync,
    syncedAt: [...pushedAt, ...(before.syncedAt === undefined ? [] : [before.syncedAt])]
      .sort()
      .at(-1),
  });
}
