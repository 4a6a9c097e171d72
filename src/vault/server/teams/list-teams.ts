import type { TeamRecord } from "../../../protocol/responses.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { nestedJsonList, type NestedItem } from "../http/json-list.ts";
import type { Membership } from "../store/tables/sharing-tables.ts";

/** Members read in one transaction. */
const PAGE_SIZE = 1000;

function itemOf({ groupId, creator, member }: Membership): NestedItem {
  const fields: Omit<TeamRecord, "members"> = { group_id: groupId, creator };
  return { key: groupId, item: member, fields };
}

async function* memberPages(
  { store }: VaultContext,
  { email }: Caller,
): AsyncGenerator<NestedItem[], void> {
  let after: Membership | undefined;
  do {
    const from = after;
    const page = await store.read(({ teams }) => teams.list(email, from, PAGE_SIZE));
    yield page.map(itemOf);
    after = page.length < PAGE_SIZE ? undefined : page.at(-1);
  } while (after);
}

/** Yields the teams the caller is a member of as JSON, by name in code point order. */
export function teamsAsJson(context: VaultContext, caller: Caller): AsyncGenerator<string, void> {
  return nestedJsonList("teams", "members", memberPages(context, caller));
}
