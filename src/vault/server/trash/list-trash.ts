import type { TrashEntryRecord } from "../../../protocol/responses.ts";
import { requireUnlimited } from "../access/permission.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { timestamp } from "../http/timestamp.ts";
import { allPages } from "../store/all-pages.ts";
import { partyOf } from "../store/credential.ts";
import { trashKinds, type ListedEntry, type TrashKind } from "../store/tables/trash-table.ts";

/** Entries that one transaction reads. */
const PAGE = 500;

const entriesOf = (
  { store, clock }: VaultContext,
  caller: Caller,
  kind: TrashKind,
): Promise<ListedEntry[]> =>
  allPages(PAGE, (after: ListedEntry | undefined) =>
    store.readOne(
      ({ trash }) => trash.list(kind, caller.email, after, clock.now(), PAGE),
      partyOf(caller),
    ),
  );

/**
 * Returns the caller's deleted secrets and files that can be restored, the newest first.
 * @throws ServiceError `out_of_scope`
 */
export async function listTrash(
  context: VaultContext,
  caller: Caller,
): Promise<TrashEntryRecord[]> {
  requireUnlimited(caller.scope);
  const all: ListedEntry[] = [];
  for (const kind of trashKinds) all.push(...(await entriesOf(context, caller, kind)));
  return all
    .toSorted((one, other) => other.trashedAt - one.trashedAt)
    .map(({ kind, id, name, version, size, trashedAt, endsAt }) => ({
      id,
      kind,
      name,
      version,
      ...(kind === "file" && { size }),
      deleted_at: timestamp(trashedAt),
      ends_at: timestamp(endsAt),
    }));
}
