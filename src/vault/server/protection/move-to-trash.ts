import type { Limits } from "../limits.ts";
import type { Transaction } from "../store/store.ts";
import type { TrashKind } from "../store/tables/trash-table.ts";

const DAY_MS = 86_400_000;

/** Entries beyond the quota that one request removes; later requests remove more. */
const MOST_TRIMMED = 500;

/** Choices of the operator that limit a trash. */
interface TrashPolicy {
  readonly trashDays: number;
  readonly limits: Pick<Limits, "quotas">;
}

/** Moves a secret or file to the trash of a server that has one. */
export async function moveToTrash(
  { trashDays }: Pick<TrashPolicy, "trashDays">,
  { trash }: Pick<Transaction, "trash">,
  kind: TrashKind,
  id: string,
  now: number,
): Promise<void> {
  await trash.put(kind, id, now, now + trashDays * DAY_MS);
}

/**
 * Removes the oldest entries of an account that has more than its quota. The bytes of secrets and
 * of large files are erased by the sweeper.
 */
export async function trimTrash(
  { limits: { quotas } }: Pick<TrashPolicy, "limits">,
  { trash, secrets, files }: Transaction,
  owner: string,
): Promise<void> {
  for (const { kind, id } of await trash.beyond(owner, quotas.trash, MOST_TRIMMED)) {
    if (kind === "secret") await secrets.retire(id);
    else await files.remove(id);
  }
}
