import type { ListedShare } from "../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireCreator } from "../access/permission.ts";
import { candidates } from "../secrets/find-secret.ts";
import type { Grant } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { absentOf, stateOf } from "./share-state.ts";

async function listed(transaction: Transaction, caller: Caller, grant: Grant, now: number): Promise<ListedShare> {
  const { kind, permission } = grant;
  const to = kind === "person" ? grant.email : grant.groupId;
  // The caller need not be a member of the team any more.
  const users = kind === "person" ? [to] : ((await transaction.teams.find(to))?.members ?? []);
  return { to, kind, permission, state: stateOf(await absentOf(transaction, caller, users, now)) };
}

/**
 * Lists the shares of the caller's secret: users, then teams, each in code point order. A share that a user dismissed is omitted;
 * a share with a team is listed even when members dismissed it.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`
 */
export async function listShares({ store, clock }: VaultContext, caller: Caller, name: string): Promise<ListedShare[]> {
  const now = clock.now();
  return store.read(async (transaction) => {
    const { secret } = requireCreator(await candidates(transaction, caller, name, now), caller.scope);
    const shares: ListedShare[] = [];
    for (const grant of await transaction.grants.grantees(secret.id)) shares.push(await listed(transaction, caller, grant, now));
    return shares;
  });
}
