import { scopeReaches } from "../../protocol/parse-scope.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { mayRead } from "../access/permission.ts";
import { expiresAt } from "./secret-record.ts";
import { secretText } from "./secret-text.ts";
import { PageSize } from "./page-size.ts";
import type { ListedSecret, SecretAccess } from "../store/records.ts";
import { LIST_PAGE_SIZE } from "../store/tables/secret-table.ts";

/** A list at the time it was opened; its records are read while they are sent. */
export interface OpenedList {
  /** Ids of all secrets the user has access to, in order. */
  readonly ids: readonly string[];
  readonly revision: string;
  /** Time that expiry and deadlines are compared with. */
  readonly now: number;
  /**
   * Yields the latest version of every secret in scope that the caller may read, own and received, by name, then owner, in code
   * point order, at most a few hundred at a time, as JSON records that commas separate. Secrets the caller loses meanwhile are omitted, changed ones are listed with their new
   * state.
   */
  pages(): AsyncGenerator<string, ListEnd>;
}

/** Facts that are known once a list has been read to its end. */
interface ListEnd {
  /** True when nothing changed while it was read, so that it is the list of this revision. */
  readonly consistent: boolean;
  /** Time of the next deadline or expiry, until which the list stays the same. */
  readonly until: number;
}

/** Pages read ahead of the one being sent, so that a remote database is kept busy. */
const PAGES_AHEAD = 3;

function nextChange(now: number, { secret, latest }: SecretAccess): number {
  const expiry = expiresAt(latest);
  return expiry > now ? Math.min(expiry, secret.deleteAt) : secret.deleteAt;
}

export async function openList({ store, clock }: VaultContext, caller: Caller): Promise<OpenedList> {
  const { email, scope } = caller;
  const now = clock.now();
  const { ids, revision } = await store.read(async ({ secrets, listRevisions }) => ({
    ids: await secrets.listIds(email, now),
    revision: (await listRevisions.of(email)).revision,
  }));
  const read = (from: number, to: number): Promise<readonly ListedSecret[]> => {
    const slice = ids.slice(from, to);
    const page = slice.length === 0 ? Promise.resolve([]) : store.read(({ secrets }) => secrets.accessByIds(email, slice, now));
    // A page of a list whose client is gone is never awaited.
    page.catch(() => undefined);
    return page;
  };
  async function* pages(): AsyncGenerator<string, ListEnd> {
    let until = Infinity;
    const size = new PageSize(LIST_PAGE_SIZE);
    let requested = 0;
    const readPage = () => read(requested, (requested = Math.min(ids.length, requested + size.next)));
    const ahead = Array.from({ length: PAGES_AHEAD }, readPage);
    for (let page = ahead.shift(); page; page = ahead.shift()) {
      const accesses = await page;
      if (accesses.length > 0) size.seen(accesses.map(({ metadataText }) => metadataText.length));
      if (requested < ids.length) ahead.push(readPage());
      for (const access of accesses) until = Math.min(until, nextChange(now, access));
      yield accesses
        .filter((access) => mayRead(access) && scopeReaches(scope, access.secret.name, access.latest.metadata))
        .map((access) => secretText(access, now))
        .join(",");
    }
    const { revision: last } = await store.read(({ listRevisions }) => listRevisions.of(email));
    return { consistent: last === revision, until };
  }
  return { ids, revision, now, pages };
}
