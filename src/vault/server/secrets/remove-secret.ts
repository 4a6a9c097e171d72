import type { Transaction } from "../store/store.ts";

/**
 * Versions and grants of a secret, and bytes of all secrets of a request, that are erased in its
 * transaction.
 */
const MOST_ROWS = 16;
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * Removes secrets in one transaction. A large secret is retired: it is gone for all users, and its
 * name is free, but the sweeper erases its versions and grants, in small transactions, so that no
 * request takes longer the more a secret has.
 */
export class SecretRemoval {
  #bytesLeft = MOST_BYTES;

  async remove({ secrets }: Pick<Transaction, "secrets">, secretId: string): Promise<void> {
    const { rows, bytes } = await secrets.sizeUpTo(secretId, MOST_ROWS + 1);
    if (rows > MOST_ROWS || bytes > this.#bytesLeft) return secrets.retire(secretId);
    this.#bytesLeft -= bytes;
    return secrets.remove(secretId);
  }
}
