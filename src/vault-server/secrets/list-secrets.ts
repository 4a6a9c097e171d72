import { scopeReaches } from "../../protocol/parse-scope.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { mayRead } from "../access/permission.ts";
import { expiresAt } from "./secret-record.ts";
import { secretText } from "./secret-text.ts";
import { PageSize } from "./page-size.ts";
import type { SecretAccess } from "../store/records.ts";
import { LIST_PAGE_SIZE } from "../store/tables/secret-table.ts";

/** A list at the time it was opened; its records are read while they are sent. */
export interface OpenedList {
  readonly revision: string;
  /** Time that expiry and deadlines are compared with. */
  readonly now: number;
  /** Length of the records of the caller's own secrets that were yielded so far. */
  readonly ownLength: number;
  /**
   * Yields the latest version of every secret in scope that the caller may read, own and received, by name, then owner, in code
   * point order, at most a few hundred at a time, as JSON records that commas separate. Secrets the caller loses meanwhile are omitted, changed ones are listed with their new
   * state.
   */
  pages(): AsyncGenerator<string, ListEnd>;
}

/** Facts that are known once a list has been read to its end. */
export interface ListEnd {
  /** True when nothing changed while it was read, so that it is the list of this revision. */
  readonly consistent: boolean;
  /** Time of the next deadline or expiry, until which the list stays the same. */
  readonly until: number;
}

function nextChange(now: number, { secret, latest }: SecretAccess): number {
  const expiry = expiresAt(latest);
  return expiry > now ? Math.min(expiry, secret.deleteAt) : secret.deleteAt;
}

/** The text of some records of a list, and what is known about them. */
interface Page {
  readonly text: string;
  readonly ownLength: number;
  readonly until: number;
  /** Lengths of the metadata that was read. */
  readonly lengths: readonly number[];
}

/** Reads records of a list; only their text stays in memory. */
async function readPage({ store }: VaultContext, { email, scope }: Caller, ids: readonly string[], now: number): Promise<Page> {
  if (ids.length === 0) return { text: "", ownLength: 0, until: Infinity, lengths: [] };
  const accesses = await store.read(({ secrets }) => secrets.accessByIds(email, ids, now));
  const listed = accesses.filter((access) => mayRead(access) && scopeReaches(scope, access.secret.name, access.latest.metadata));
  let ownLength = 0;
  const texts = listed.map((access) => {
    const text = secretText(access, now);
    if (access.secret.owner === email) ownLength += text.length;
    return text;
  });
  return {
    text: texts.join(","),
    ownLength,
    until: accesses.reduce((until, access) => Math.min(until, nextChange(now, access)), Infinity),
    lengths: accesses.map(({ metadataText }) => metadataText.length),
  };
}

export async function openList(context: VaultContext, caller: Caller): Promise<OpenedList> {
  const { store, clock } = context;
  const { email } = caller;
  const now = clock.now();
  const { ids, revision } = await store.read(async ({ secrets, listRevisions }) => ({
    ids: await secrets.listIds(email, now),
    revision: (await listRevisions.of(email)).revision,
  }));
  let ownLength = 0;
  async function* pages(): AsyncGenerator<string, ListEnd> {
    let until = Infinity;
    const size = new PageSize(LIST_PAGE_SIZE);
    let requested = 0;
    const next = (): Promise<Page> => {
      const page = readPage(
        context,
        caller,
        ids.slice(requested, (requested = Math.min(ids.length, requested + size.next))),
        now,
      );
      // A page of a list whose client is gone is never awaited.
      page.catch(() => undefined);
      return page;
    };
    for (let ahead: Promise<Page> | undefined = next(); ahead;) {
      const page: Page = await ahead;
      if (page.lengths.length > 0) size.seen(page.lengths);
      // One page is read while another is sent, so that a remote database is kept busy.
      ahead = requested < ids.length ? next() : undefined;
      until = Math.min(until, page.until);
      ownLength += page.ownLength;
      yield page.text;
    }
    const { revision: last } = await store.read(({ listRevisions }) => listRevisions.of(email));
    return { consistent: last === revision, until };
  }
  return {
    revision,
    now,
    get ownLength() {
      return ownLength;
    },
    pages,
  };
}
