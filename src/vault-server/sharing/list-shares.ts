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
  // Whether or not the caller is still a member of the team.
  const people = kind === "person" ? [to] : ((await transaction.teams.find(to))?.members ?? []);
  return { to, kind, permission, state: stateOf(await absentOf(transaction, caller, people, now)) };
}

/**
 * To whom the caller's secret is shared: people, then teams, each by code point. What a person has put away is no longer shared with them;
 * a team's share stays, whoever of it has.
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
