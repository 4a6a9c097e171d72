import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { resealSecret } from "../hand-over/reseal.ts";
import { removeDue } from "../protection/removal.ts";
import { currentKey } from "../store/current-key.ts";
import type { SecretIdentity } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

/** Amounts that one transaction seals again without delaying other writers for more than a second. */
const MOST_ROWS = 1_000;
const MOST_BYTES = 32 * 1024 * 1024;

/**
 * Requires that an account has no secret of a name. One past its deadline may still occupy it.
 * @throws ServiceError `name_taken`
 */
export async function freeSecretName(
  transaction: Transaction,
  owner: string,
  name: string,
  now: number,
): Promise<void> {
  if (await transaction.handOver.hasName("secret", owner, name, now)) throw errors.nameTaken();
  await removeDue(transaction, owner, name, now);
}

/**
 * Seals values and grants of a secret for another name: call it before the secret gets the name.
 * @throws ServiceError `too_large`
 */
export async function sealForName(
  { keys }: Pick<VaultContext, "keys">,
  transaction: Transaction,
  from: SecretIdentity,
  to: SecretIdentity,
): Promise<void> {
  const { secrets, grants } = transaction;
  const { rows, bytes } = await secrets.sizeUpTo(from.id, MOST_ROWS + 1);
  if (rows > MOST_ROWS || bytes > MOST_BYTES)
    throw errors.secretTooLargeToRename(MOST_ROWS, MOST_BYTES);
  await resealSecret({ keys, current: await currentKey(keys, transaction) }, transaction, from, to);
  await grants.sealFor(from, to);
}
