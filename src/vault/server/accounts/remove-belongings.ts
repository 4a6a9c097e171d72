import type { Clock } from "../../../lib/clock.ts";
import { BATCH_SIZE, CHUNKS_PER_BATCH, endTrash, removeDue } from "../protection/long-removal.ts";
import { Removal } from "../protection/removal.ts";
import { RETIRED_AT } from "../store/sql/retired-name.ts";
import type { Store, Transaction } from "../store/store.ts";
import type { TrashEntry } from "../store/tables/trash-table.ts";

/** Rest between two transactions as a multiple of the time of the first: servers write then. */
const YIELD_FACTOR = 0.5;
/** Rows and bytes of an account that one transaction removes. */
const MOST_ROWS = 500;
const MOST_BYTES = 16 * 1024 * 1024;
/** Teams of an account, with up to 1,000 members each, that one transaction removes. */
const MOST_TEAMS = 5;

/** Reports whether an account has more than one transaction should remove. */
export async function hasMuch(transaction: Transaction, email: string): Promise<boolean> {
  const { secrets, versions, grants, bytes } = await transaction.usage.of(email);
  if (bytes > MOST_BYTES || (await transaction.teams.countOf(email)) > MOST_TEAMS) return true;
  const received = await transaction.grants.received(email, MOST_ROWS);
  return secrets + versions + grants + received.length > MOST_ROWS;
}

/** Returns some secrets and files of an account, also of its trash: none when all are retired. */
async function someOf(
  { handOver, trash }: Transaction,
  email: string,
): Promise<Pick<TrashEntry, "kind" | "id">[]> {
  const secrets = await handOver.secrets(email, 0, "", BATCH_SIZE);
  if (secrets.length > 0) return secrets.map(({ id }) => ({ kind: "secret", id }));
  const files = await handOver.files(email, "", BATCH_SIZE);
  if (files.length > 0) return files.map(({ id }) => ({ kind: "file", id }));
  return trash.oldest(email, BATCH_SIZE);
}

/**
 * Removes the secrets and files of an account, with its trash, its teams and what others share with
 * it, in transactions of a few hundred rows, as the sweeper does: other writes are served between
 * them. What an interruption leaves is removed by the next call.
 */
export async function removeBelongings(
  store: Pick<Store, "write">,
  clock: Pick<Clock, "monotonic" | "sleep">,
  email: string,
): Promise<void> {
  const repeat = async (step: (transaction: Transaction) => Promise<boolean>): Promise<void> => {
    let startedAt = clock.monotonic();
    while (await store.write(step)) {
      await clock.sleep(YIELD_FACTOR * (clock.monotonic() - startedAt));
      startedAt = clock.monotonic();
    }
  };
  await repeat(async (transaction) => {
    const removal = new Removal();
    const some = await someOf(transaction, email);
    for (const entry of some) await removal.remove(transaction, entry);
    return some.length > 0;
  });
  await repeat(async ({ teams }) => {
    const [first] = await teams.createdBy(email);
    if (first !== undefined) await teams.remove(first);
    return first !== undefined;
  });
  await repeat(async ({ grants }) => {
    const received = await grants.received(email, BATCH_SIZE);
    for (const secretId of received) await grants.revoke(secretId, [{ kind: "person", email }]);
    return received.length > 0;
  });
  await repeat(async (transaction) => (await removeDue(transaction, RETIRED_AT)).more);
  await repeat((transaction) => endTrash(transaction, RETIRED_AT));
  // The bytes of removed files: they are staged before all uploads.
  await repeat(({ files }) => files.discardStale(1, CHUNKS_PER_BATCH));
}
