import { type Caller, writeAs } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { pickReceived } from "../access/pick-secret.ts";
import { requireReach } from "../access/permission.ts";
import { candidates, ownerOf } from "../secrets/find-secret.ts";
import type { Transaction } from "../store/store.ts";

/**
 * Removes a received secret from the caller's secrets only, whether it was shared directly or
 * through teams, until it is shared again. Returns its creator.
 * @throws ServiceError `secret_not_found`, also for its creator; `ambiguous_name`; `out_of_scope`
 */
export async function dismissShare(
  context: VaultContext,
  caller: Caller,
  name: string,
  owner: string | undefined,
): Promise<string> {
  const now = context.clock.now();
  const write = async (transaction: Transaction): Promise<string> => {
    const { secret, latest } = pickReceived(
      await candidates(transaction, caller, name, now),
      owner,
    );
    requireReach(caller.scope, name, latest.metadata);
    await transaction.grants.dismissShare(secret.id, caller.email);
    return secret.owner;
  };
  return writeAs(context, caller, write, ownerOf(context, caller, name, owner));
}
