import type { ConsumerRecord } from "../../../protocol/responses.ts";
import { requireCreator } from "../access/permission.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { jsonList } from "../http/json-stream.ts";
import { timestamp } from "../http/timestamp.ts";
import { ownCandidates } from "../secrets/find-secret.ts";
import { pagesOf } from "../store/all-pages.ts";
import { partyOf } from "../store/credential.ts";
import type { Consumer, EntryKind } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { CONSUMERS_PER_ENTRY } from "./consumer-uses.ts";

/** Consumers of one piece of a response. */
const PAGE = 200;
/** Bytes of one consumer in memory: a name, an address and up to 200 characters. */
const RECORD_BYTES = 1024;

/** Secrets or files of the caller. */
export interface OwnEntries {
  readonly kind: EntryKind;
  readonly names: readonly string[];
}

async function idOf(
  transaction: Transaction,
  caller: Caller,
  kind: EntryKind,
  name: string,
  now: number,
): Promise<string> {
  if (kind === "secret") {
    const found = await ownCandidates(transaction, caller, name, now);
    return requireCreator(found, caller.scope).secret.id;
  }
  const file = await transaction.files.find(caller.email, name);
  if (!file) throw errors.fileNotFound();
  return file.id;
}

/** Reads the resources that read some entries of the caller, the newest read first. */
async function consumersOf(
  { store, clock }: VaultContext,
  caller: Caller,
  { kind, names }: OwnEntries,
): Promise<readonly (Consumer & { readonly name: string })[]> {
  const now = clock.now();
  return store.read(async (transaction) => {
    const lists: (Consumer & { readonly name: string })[] = [];
    for (const name of new Set(names)) {
      const id = await idOf(transaction, caller, kind, name, now);
      const consumers = await transaction.consumers.list(kind, id);
      lists.push(...consumers.map((consumer) => ({ ...consumer, name })));
    }
    return lists.toSorted((one, other) => other.readAt - one.readAt);
  }, partyOf(caller));
}

async function* consumerPages(
  context: VaultContext,
  caller: Caller,
  entries: OwnEntries,
): AsyncGenerator<ConsumerRecord[], void> {
  for (const page of pagesOf(await consumersOf(context, caller, entries), PAGE))
    yield page.map(({ name, consumer, version, readAt, account }) => ({
      name,
      consumer,
      version,
      last_read_at: timestamp(readAt),
      account,
    }));
}

/** Returns the bytes that the list of these entries counts as while it is in memory. */
export function lengthOfConsumers({ names }: Pick<OwnEntries, "names">): number {
  return names.length * CONSUMERS_PER_ENTRY * RECORD_BYTES;
}

/**
 * Yields the resources that read some entries of the caller as JSON, the newest read first.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`, `file_not_found`
 */
export function consumersAsJson(
  context: VaultContext,
  caller: Caller,
  entries: OwnEntries,
): AsyncGenerator<string, void> {
  return jsonList({}, "consumers", consumerPages(context, caller, entries));
}
