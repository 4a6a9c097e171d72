import type { VaultContext } from "../context.ts";
import { openEnvelope, sealEnvelope } from "../crypto/envelope.ts";
import { errors } from "../errors.ts";
import { resealSecret } from "../hand-over/reseal.ts";
import { SecretRemoval } from "../protection/removal.ts";
import { valueIdentity } from "../secrets/secret-value.ts";
import { currentKey } from "../store/current-key.ts";
import type { Secret, SecretIdentity, SecretVersion } from "../store/records.ts";
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
  const due = await transaction.secrets.dueNamed(owner, name, now);
  if (due !== undefined) await new SecretRemoval().remove(transaction, due);
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

/**
 * Makes sure that the latest version of a secret has a higher number than all that others had under
 * its name: else adds a version with the latest value. Returns the latest version.
 * @param next the number after the highest one of other secrets
 */
export async function continueNumbers(
  { keys }: Pick<VaultContext, "keys">,
  transaction: Transaction,
  secret: Secret,
  latest: SecretVersion,
  next: number,
): Promise<SecretVersion> {
  if (latest.version >= next) return latest;
  const { secrets } = transaction;
  const value = await secrets.value(secret.id, latest.version);
  if (!value) throw new Error("the latest version of a secret has no value");
  const plain = openEnvelope(keys, valueIdentity(secret, latest.version), value);
  // It was created when its value was: its expiry stays the same.
  const added = { ...latest, version: Math.max(next, secret.nextVersion) };
  const identity = valueIdentity(secret, added.version);
  const sealed = sealEnvelope(await currentKey(keys, transaction), identity, plain);
  plain.fill(0);
  await secrets.insertVersion(secret.id, added, sealed);
  await secrets.update({ ...secret, nextVersion: added.version + 1 });
  return added;
}
