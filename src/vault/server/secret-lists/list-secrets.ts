import type { Caller } from "../accounts/authenticate.ts";
import { partyOf } from "../store/credential.ts";
import type { VaultContext } from "../context.ts";
import { mayRead } from "../access/permission.ts";
import { expiresAt, secretText } from "../secrets/secret-record.ts";
import { PageSize } from "./page-size.ts";
import type { Transaction } from "../store/store.ts";
import type { SecretAccess } from "../store/records.ts";
import { LIST_PAGE_SIZE } from "../store/tables/secret-table.ts";
import { scopeReaches } from "../../../protocol/scope.ts";

/** Parts of the server that read a list. */
type ListContext = Pick<VaultContext, "store" | "clock">;

/** A list at the time it was opened; its records are read while they are sent. */
export interface OpenedList {
  readonly revision: string;
  /** Time that expiry and deadlines are compared with. */
  readonly now: number;
  /** Length of the records of the caller's own secrets that were yielded so far. */
  readonly ownLength: number;
  /**
   * Yields the latest version of every secret in scope that the caller may read, own and received,
   * by name, then owner, in code point order, at most a few hundred at a time, as JSON records that
   * commas separate. Secrets the caller loses during the read are omitted, changed ones are listed
   * with their new state.
   */
  pages(): AsyncGenerator<string, ListEnd>;
}

/** Facts that are known once a list has been read to its end. */
export interface ListEnd {
  /** True when nothing changed while the list was read: it is the list of this revision. */
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
  /** Number of ids that were read, and lengths of their metadata. */
  readonly count: number;
  readonly lengths: readonly number[];
}

/**
 * Secrets that are read without first asking for the length of their metadata, up to 64 KiB each.
 */
const UNCHECKED = 32;
/** Maximum length of the metadata of more secrets that are read together. */
const MAX_LENGTH = 1024 * 1024;

/**
 * Returns the number of secrets, from the first on, that are read together: large metadata may
 * follow small.
 */
async function fittingCount(
  { secrets }: Pick<Transaction, "secrets">,
  email: string,
  ids: readonly string[],
  now: number,
): Promise<number> {
  if (ids.length <= UNCHECKED) return ids.length;
  const lengths = await secrets.metadataLengths(email, ids, now);
  let length = 0;
  const beyond = ids.findIndex((id) => (length += lengths.get(id) ?? 0) > MAX_LENGTH);
  return beyond === -1 ? ids.length : Math.max(1, beyond);
}

/** Reads the first of these records of a list; only their text stays in memory. */
async function readPage(
  { store }: ListContext,
  caller: Caller,
  ids: readonly string[],
  now: number,
): Promise<Page> {
  const { email, scope } = caller;
  if (ids.length === 0) return { text: "", count: 0, ownLength: 0, until: Infinity, lengths: [] };
  const { count, accesses } = await store.read(async (transaction) => {
    const fitting = await fittingCount(transaction, email, ids, now);
    return {
      count: fitting,
      accesses: await transaction.secrets.accessByIds(email, ids.slice(0, fitting), now),
    };
  }, partyOf(caller));
  const listed = accesses.filter(
    (access) => mayRead(access) && scopeReaches(scope, access.secret.name, access.latest.metadata),
  );
  let ownLength = 0;
  const texts = listed.map((access) => {
    const text = secretText(access, now);
    if (access.secret.owner === email) ownLength += text.length;
    return text;
  });
  return {
    text: texts.join(","),
    count,
    ownLength,
    until: accesses.reduce((until, access) => Math.min(until, nextChange(now, access)), Infinity),
    lengths: accesses.map(({ metadataText }) => metadataText.length),
  };
}

export async function openList(context: ListContext, caller: Caller): Promise<OpenedList> {
  const { store, clock } = context;
  const { email } = caller;
  const reader = partyOf(caller);
  const now = clock.now();
  const { ids, revision } = await store.read(
    async ({ secrets, listRevisions }) => ({
      ids: await secrets.listIds(email, now),
      revision: (await listRevisions.of(email)).revision,
    }),
    reader,
  );
  let ownLength = 0;
  async function* pages(): AsyncGenerator<string, ListEnd> {
    let until = Infinity;
    const size = new PageSize(LIST_PAGE_SIZE);
    let done = 0;
    const next = (): Promise<Page> => {
      const page = readPage(context, caller, ids.slice(done, done + size.next), now);
      // A page of a list whose client is gone is never awaited.
      page.catch(() => undefined);
      return page;
    };
    for (let ahead: Promise<Page> | undefined = next(); ahead;) {
      const page: Page = await ahead;
      done += page.count;
      if (page.lengths.length > 0) size.seen(page.lengths);
      // One page is read while another is sent: that keeps a remote database busy.
      ahead = done < ids.length ? next() : undefined;
      until = Math.min(until, page.until);
      ownLength += page.ownLength;
      yield page.text;
    }
    const { revision: last } = await store.read(
      ({ listRevisions }) => listRevisions.of(email),
      reader,
    );
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
