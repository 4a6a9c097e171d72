import type { Limits } from "../limits.ts";
import type { Transaction } from "../store/store.ts";
import type { TrashEntry, TrashKind } from "../store/tables/trash-table.ts";

const DAY_MS = 86_400_000;

/**
 * Entries beyond the quota that one request removes, in addition to as many as it has moved to the
 * trash; later requests remove more.
 */
const MOST_TRIMMED = 500;

/** Amounts of the trash whose limits are the quotas. */
const LIMITED = ["versions", "bytes", "grants"] as const;

/** Choices of the operator that limit a trash. */
interface TrashPolicy {
  readonly trashDays: number;
  readonly limits: Pick<Limits, "quotas">;
}

/**
 * Versions and grants of a secret, and bytes of all secrets of a request, that are erased in its
 * transaction.
 */
const MOST_ROWS = 16;
const MOST_BYTES = 4 * 1024 * 1024;

/** Versions of all files of a request that are removed in its transaction. */
const MOST_FILE_VERSIONS = 500;

/**
 * Removes secrets and files permanently, in one transaction. A large one is retired: it is gone for
 * all users, and its name is free, but the sweeper erases its versions and grants, in small
 * transactions: no request takes longer for a larger secret or file.
 */
export class Removal {
  #bytesLeft = MOST_BYTES;
  #versionsLeft = MOST_FILE_VERSIONS;

  async remove(
    transaction: Pick<Transaction, "secrets" | "files">,
    { kind, id }: Pick<TrashEntry, "kind" | "id">,
  ): Promise<void> {
    if (kind === "secret") await this.#removeSecret(transaction, id);
    else await this.#removeFile(transaction, id);
  }

  async #removeFile({ files }: Pick<Transaction, "files">, fileId: string): Promise<void> {
    const { length } = await files.versions(fileId, 0, this.#versionsLeft + 1);
    if (length > this.#versionsLeft) return files.retire(fileId);
    this.#versionsLeft -= length;
    return files.remove(fileId);
  }

  async #removeSecret({ secrets }: Pick<Transaction, "secrets">, secretId: string): Promise<void> {
    const { rows, bytes } = await secrets.sizeUpTo(secretId, MOST_ROWS + 1);
    if (rows > MOST_ROWS || bytes > this.#bytesLeft) return secrets.retire(secretId);
    this.#bytesLeft -= bytes;
    return secrets.remove(secretId);
  }
}

/** Removes the secret past its deadline that still occupies a name. */
export async function removeDue(
  transaction: Pick<Transaction, "secrets" | "files">,
  owner: string,
  name: string,
  now: number,
): Promise<void> {
  const due = await transaction.secrets.dueNamed(owner, name, now);
  if (due !== undefined) await new Removal().remove(transaction, { kind: "secret", id: due });
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
 * Removes the oldest entries of an account whose trash has more than the quota of entries, or more
 * than the account may have outside of it.
 * @param moved number of entries that the transaction has moved to the trash
 */
export async function trimTrash(
  { limits: { quotas } }: Pick<TrashPolicy, "limits">,
  transaction: Transaction,
  owner: string,
  moved: number,
): Promise<void> {
  const { trash } = transaction;
  const { secrets, files, ...left } = await trash.usage(owner);
  let entries = secrets + files;
  const isOver = (): boolean =>
    entries > quotas.trash || LIMITED.some((name) => left[name] > quotas[name]);
  if (!isOver()) return;
  const removal = new Removal();
  for (const entry of await trash.oldest(owner, moved + MOST_TRIMMED)) {
    await removal.remove(transaction, entry);
    entries -= 1;
    for (const name of LIMITED) left[name] -= entry[name];
    if (!isOver()) return;
  }
}
