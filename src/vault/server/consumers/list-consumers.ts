import type { ConsumerRecord } from "../../../protocol/responses.ts";
import { requireCreator } from "../access/permission.ts";
import type { Caller } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { timestamp } from "../http/timestamp.ts";
import { ownCandidates } from "../secrets/find-secret.ts";
import { partyOf } from "../store/credential.ts";
import type { EntryKind } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

/** The caller's secret or file. */
export interface OwnEntry {
  readonly kind: EntryKind;
  readonly name: string;
}

async function idOf(
  transaction: Transaction,
  caller: Caller,
  { kind, name }: OwnEntry,
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
 * Returns the resources that read an entry of the caller, the newest read first.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`, `file_not_found`
 */
export async function listConsumers(
  { store, clock }: VaultContext,
  caller: Caller,
  entry: OwnEntry,
): Promise<ConsumerRecord[]> {
  const now = clock.now();
  const found = await store.read(async (transaction) => {
    const id = await idOf(transaction, caller, entry, now);
    return transaction.consumers.list(entry.kind, id);
  }, partyOf(caller));
  return found.map(({ consumer, version, readAt, account }) => ({
    consumer,
    version,
    last_read_at: timestamp(readAt),
    account,
  }));
}
