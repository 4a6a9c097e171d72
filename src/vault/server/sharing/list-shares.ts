import type { ListedShare } from "../../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import { REFRESH_IDLE_MS } from "../accounts/tokens.ts";
import type { VaultContext } from "../context.ts";
import { requireCreator } from "../access/permission.ts";
import { errors } from "../errors.ts";
import { jsonList } from "../http/json-stream.ts";
import { ownCandidates } from "../secrets/find-secret.ts";
import type { Grant } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

/** Shares read in one transaction: the state of each one with a team takes a query. */
const PAGE_SIZE = 100;

async function listed(
  { tokens }: Transaction,
  caller: Caller,
  grants: readonly Grant[],
  now: number,
): Promise<ListedShare[]> {
  const usedAfter = now - REFRESH_IDLE_MS;
  const emails = grants.flatMap((grant) => (grant.kind === "team" ? [] : [grant.email]));
  const live = await tokens.live(emails, usedAfter, now);
  const shares: ListedShare[] = [];
  for (const grant of grants) {
    const { kind, permission } = grant;
    const isTeam = kind === "team";
    const active = isTeam
      ? await tokens.haveLive(grant.groupId, caller.email, usedAfter, now)
      : live.has(grant.email);
    shares.push({
      to: isTeam ? grant.groupId : grant.email,
      kind,
      permission,
      state: active ? "active" : "invited",
    });
  }
  return shares;
}

export async function* sharePages(
  { store, clock }: Pick<VaultContext, "store" | "clock">,
  caller: Caller,
  name: string,
): AsyncGenerator<ListedShare[], void> {
  const now = clock.now();
  let after: Grant | undefined;
  let listedId: string | undefined;
  do {
    const from = after;
    const { grants, shares } = await store.read(async (transaction) => {
      const { secret } = requireCreator(
        await ownCandidates(transaction, caller, name, now),
        caller.scope,
      );
      listedId ??= secret.id;
      // The name has become another secret.
      if (secret.id !== listedId) throw errors.secretNotFound();
      const page = await transaction.grants.grantees(secret.id, from, PAGE_SIZE);
      return { grants: page, shares: await listed(transaction, caller, page, now) };
    }, partyOf(caller));
    yield shares;
    after = grants.length < PAGE_SIZE ? undefined : grants.at(-1);
  } while (after);
}

/**
 * Yields the shares of the caller's secret as JSON: users, then teams, each in code point order. A
 * share that a user dismissed is omitted; a share with a team is listed even when members dismissed
 * it.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`
 */
export function sharesAsJson(
  context: VaultContext,
  caller: Caller,
  name: string,
): AsyncGenerator<string, void> {
  return jsonList({ key_name: name }, "shares", sharePages(context, caller, name));
}
