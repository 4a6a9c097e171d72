import type { SecretRecord } from "../../protocol/responses.ts";
import { scopeReaches } from "../../protocol/parse-scope.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { mayRead } from "../access/permission.ts";
import { expiresAt, secretRecord } from "./secret-record.ts";
import type { SecretAccess } from "../store/records.ts";
import { LIST_PAGE_SIZE } from "../store/tables/secret-table.ts";

/** A list as it stood when it was opened; its records are read as they are sent. */
export interface OpenedList {
  /** Of what the person has, in order. */
  readonly ids: readonly string[];
  readonly revision: string;
  /** The moment as of which everything is told. */
  readonly now: number;
  /**
   * The latest version of every secret in scope that the caller may read, own and received, by name, then owner, in code point order; a
   * few hundred at a time. What the caller loses meanwhile is left out, what changes meanwhile is told as it then is.
   */
  pages(): AsyncGenerator<readonly SecretRecord[], ListEnd>;
}

/** What is known when all of a list has been read. */
export interface ListEnd {
  /** Whether nothing changed while it was read: then it is the list of this revision. */
  readonly whole: boolean;
  /** Until when it stays the list of this revision: then a deadline or an expiry comes. */
  readonly until: number;
}

/** Read while those before them are written: a database of its own is not kept waiting. */
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
    revision: await listRevisions.of(email),
  }));
  const read = (from: number): Promise<readonly SecretAccess[]> => {
    const slice = ids.slice(from, from + LIST_PAGE_SIZE);
    const page = slice.length === 0 ? Promise.resolve([]) : store.read(({ secrets }) => secrets.accessByIds(email, slice, now));
    // When the client is gone nobody asks for it any more, nor hears of its failure.
    page.catch(() => undefined);
    return page;
  };
  async function* pages(): AsyncGenerator<readonly SecretRecord[], ListEnd> {
    let until = Infinity;
    const ahead = Array.from({ length: PAGES_AHEAD }, (_, page) => read(page * LIST_PAGE_SIZE));
    for (let from = 0; from < ids.length; from += LIST_PAGE_SIZE) {
      const holdings = (await ahead.shift()) ?? [];
      ahead.push(read(from + PAGES_AHEAD * LIST_PAGE_SIZE));
      for (const holding of holdings) until = Math.min(until, nextChange(now, holding));
      yield holdings
        .filter((holding) => mayRead(holding) && scopeReaches(scope, holding.secret.name, holding.latest.metadata))
        .map((holding) => secretRecord(holding, holding.latest, now));
    }
    return { whole: (await store.read(({ listRevisions }) => listRevisions.of(email))) === revision, until };
  }
  return { ids, revision, now, pages };
}

/** `{…head, "secrets": [the list's records]}` as JSON, piece by piece. @param ended told when all of it has been read */
export async function* jsonOf(head: object, list: OpenedList, ended?: (end: ListEnd) => void): AsyncGenerator<string, void> {
  const start = JSON.stringify({ ...head, secrets: [] });
  let before = start.slice(0, -2);
  const pages = list.pages();
  let page = await pages.next();
  for (; page.done !== true; page = await pages.next()) {
    if (page.value.length === 0) continue;
    yield before + JSON.stringify(page.value).slice(1, -1);
    before = ",";
  }
  ended?.(page.value);
  yield before === "," ? "]}" : start;
}
