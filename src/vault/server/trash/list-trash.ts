import type { TrashEntryRecord } from "../../../protocol/responses.ts";
import { requireUnlimited } from "../access/permission.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { jsonList } from "../http/json-stream.ts";
import { timestamp } from "../http/timestamp.ts";
import { eachPage } from "../store/all-pages.ts";
import { partyOf } from "../store/credential.ts";
import { trashKinds, type ListedEntry, type TrashKind } from "../store/tables/trash-table.ts";

/** Entries that one transaction reads, and that one piece of a response has. */
const PAGE = 200;

/** Yields the entries of one kind, the newest first. */
async function* entriesOf(
  { store, clock }: VaultContext,
  caller: Caller,
  kind: TrashKind,
): AsyncGenerator<ListedEntry, undefined> {
  const read = (after: ListedEntry | undefined): Promise<ListedEntry[]> =>
    store.readOne(
      ({ trash }) => trash.list(kind, caller.email, after, clock.now(), PAGE),
      partyOf(caller),
    );
  for await (const page of eachPage(PAGE, read)) yield* page;
  return undefined;
}

/** The entries of one kind that are not listed yet, and the first of them. */
interface Rest {
  readonly entries: AsyncGenerator<ListedEntry, undefined>;
  first: ListedEntry | undefined;
}

/** Returns the rest with the newest entry, of equal ones the first; `undefined` at the end. */
function newestOf(rests: readonly Rest[]): Rest | undefined {
  return rests.reduce<Rest | undefined>((newest, rest) => {
    const isNewer =
      rest.first && !(newest?.first && newest.first.trashedAt >= rest.first.trashedAt);
    return isNewer === true ? rest : newest;
  }, undefined);
}

function recordOf(entry: ListedEntry): TrashEntryRecord {
  const { kind, id, name, version, size, trashedAt, endsAt } = entry;
  return {
    id,
    kind,
    name,
    version,
    ...(kind === "file" && { size }),
    deleted_at: timestamp(trashedAt),
    ends_at: timestamp(endsAt),
  };
}

async function* trashPages(
  context: VaultContext,
  caller: Caller,
): AsyncGenerator<TrashEntryRecord[], void> {
  const rests: Rest[] = [];
  for (const kind of trashKinds) {
    const entries = entriesOf(context, caller, kind);
    rests.push({ entries, first: (await entries.next()).value });
  }
  let page: TrashEntryRecord[] = [];
  for (let rest = newestOf(rests); rest?.first; rest = newestOf(rests)) {
    page.push(recordOf(rest.first));
    rest.first = (await rest.entries.next()).value;
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  yield page;
}

/**
 * Yields the caller's deleted secrets and files that can be restored as JSON, the newest first.
 * @throws ServiceError `out_of_scope`, before the first piece is requested
 */
export function trashAsJson(context: VaultContext, caller: Caller): AsyncGenerator<string, void> {
  requireUnlimited(caller.scope);
  const { trashDays } = context;
  return jsonList({ trash_days: trashDays }, "trash", trashPages(context, caller));
}
