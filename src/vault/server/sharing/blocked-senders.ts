import { requireUnlimited } from "../access/permission.ts";
import { type Caller, writeAs } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";

/**
 * Returns the senders that the caller has blocked, in code point order. @throws ServiceError
 * `out_of_scope`
 */
export async function listBlocked({ store }: VaultContext, caller: Caller): Promise<string[]> {
  requireUnlimited(caller.scope);
  return store.read(({ blockedSenders }) => blockedSenders.list(caller.email), partyOf(caller));
}

/**
 * Hides what these users share with the caller. Their grants stay: the users cannot notice the
 * block, and unblocking undoes it. Returns all blocked senders.
 * @throws ServiceError `out_of_scope`; `forbidden` when the caller is among them; `quota_exceeded`
 */
export async function blockSenders(
  context: VaultContext,
  caller: Caller,
  senders: readonly string[],
): Promise<string[]> {
  requireUnlimited(caller.scope);
  if (senders.includes(caller.email)) throw errors.callerBlocked();
  const { blocked_senders: most } = context.limits.quotas;
  return writeAs(context, caller, async ({ blockedSenders }) => {
    const before = await blockedSenders.list(caller.email);
    await blockedSenders.block(caller.email, senders);
    const blocked = await blockedSenders.list(caller.email);
    if (blocked.length > most && blocked.length > before.length)
      throw errors.quotaExceeded("blocked_senders", most);
    return blocked;
  });
}

/**
 * Shows what these users share again; senders that are not blocked are ignored. @throws
 * ServiceError `out_of_scope`
 */
export async function unblockSenders(
  context: VaultContext,
  caller: Caller,
  senders: readonly string[],
): Promise<string[]> {
  requireUnlimited(caller.scope);
  return writeAs(context, caller, async ({ blockedSenders }) => {
    await blockedSenders.unblock(caller.email, senders);
    return blockedSenders.list(caller.email);
  });
}
