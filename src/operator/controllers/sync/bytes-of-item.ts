import { namedOwners } from "../../api/received-secrets.ts";
import { foundName } from "../../sync/find-items.ts";
import { earlierItem } from "../../sync/stored-status.ts";
import type { SyncItem } from "../../sync/sync-resource.ts";
import { idsOfEntries, isFromVault, sourceId, type SyncedKey } from "../../sync/target.ts";
import type { Observed } from "./stages.ts";

type Facts = Pick<Observed, "before" | "access">;

/**
 * Reports whether bytes are of an entry of the name that an item refers to, as the last status or
 * their source shows. A status that has the item without a version says nothing: the bytes may be
 * of the source that an earlier spec named.
 */
export function isOfName({ before, access }: Facts, item: SyncItem, synced: SyncedKey): boolean {
  const earlier = earlierItem(before, item);
  if (earlier?.version !== undefined || foundName(synced) === item.source) return true;
  const owners = [undefined, access.account, earlier?.owner, item.owner];
  return owners.some((owner) => synced.source === sourceId(access.vault, item.source, owner));
}

/**
 * Returns whether a claim is of the source of an item, under its key or another one. Of which
 * source bytes of another vault are is not known.
 */
export function isOfItem(
  { access, before }: Facts,
  item: SyncItem,
): (claim: readonly [string, SyncedKey]) => boolean {
  const owners = [item.owner, access.account, earlierItem(before, item)?.owner];
  const ids = idsOfEntries(access.vault, item.source, [...owners, ...namedOwners(access)]);
  return ([id, claim]) =>
    ids.has(claim.source) || (id === item.id && !isFromVault(claim, access.vault));
}
