import type { ConsumerRecord } from "../../../protocol/responses.ts";
import { requireCreator } from "../access/permission.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { timestamp } from "../http/timestamp.ts";
import { ownCandidates } from "../secrets/find-secret.ts";
import { partyOf } from "../store/credential.ts";
import type { Consumer, EntryKind } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

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

/**
 * Returns the resources that read some entries of the caller, the newest read first.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`, `file_not_found`
 */
export async function listConsumers(
  { store, clock }: VaultContext,
  caller: Caller,
  { kind, names }: OwnEntries,
): Promise<ConsumerRecord[]> {
  const now = clock.now();
  const found = await store.read(async (transaction) => {
    const lists: (Consumer & { readonly name: string })[] = [];
    for (const name of new Set(names)) {
      const id = await idOf(transaction, caller, kind, name, now);
      const consumers = await transaction.consumers.list(kind, id);
      lists.push(...consumers.map((consumer) => ({ ...consumer, name })));
    }
    return lists.toSorted((one, other) => other.readAt - one.readAt);
  }, partyOf(caller));
  return found.map(({ name, consumer, version, readAt, account }) => ({
    name,
    consumer,
    version,
    last_read_at: timestamp(readAt),
    account,
  }));
}
