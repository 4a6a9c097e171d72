import type { SecretRecord } from "../../../protocol/responses.ts";
import { requireCreator, requireReach } from "../access/permission.ts";
import { type Caller, writeWide } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { withinQuota } from "../protection/within-quota.ts";
import { requireVersion } from "../secrets/change-rules.ts";
import { ownCandidates } from "../secrets/find-secret.ts";
import { secretRecord } from "../secrets/secret-record.ts";
import { errors } from "../errors.ts";
import { resealSecret } from "../hand-over/reseal.ts";
import { removeDue } from "../protection/removal.ts";
import { currentKey } from "../store/current-key.ts";
import type { SecretIdentity } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

export interface RenameRequest {
  readonly name: string;
  readonly newName: string;
  /** Latest version that the caller knows; any without it. */
  readonly expectedVersion: number | undefined;
}

/**
 * Gives the caller's secret another name, with its versions, metadata, deadline and shares: for
 * those who know the former name it is gone.
 * @throws ServiceError `secret_not_found`; `out_of_scope`, before or after; `forbidden`; of
 * `requireVersion`; `name_taken`; `too_large`; `quota_exceeded`
 */
export async function renameSecret(
  context: VaultContext,
  caller: Caller,
  { name, newName, expectedVersion }: RenameRequest,
): Promise<SecretRecord> {
  const now = context.clock.now();
  return writeWide(context, caller, async (transaction, charge) => {
    const { handOver, grants } = transaction;
    const owner = caller.email;
    const access = requireCreator(
      await ownCandidates(transaction, caller, name, now),
      caller.scope,
    );
    const { secret, latest } = access;
    requireVersion(access, expectedVersion);
    requireReach(caller.scope, newName, latest.metadata);
    if (newName === name) return secretRecord(access, latest, now);
    await freeSecretName(transaction, owner, newName, now);
    if (access.shared) charge(await grants.countOf(secret.id));
    const renamed = { ...secret, name: newName };
    return withinQuota(context, transaction, { owner }, async () => {
      await sealForName(context, transaction, secret, renamed);
      await handOver.moveSecret(secret.id, owner, newName);
      return secretRecord({ ...access, secret: renamed }, latest, now);
    });
  });
}

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
  const { bytes } = await secrets.sizeUpTo(from.id, MOST_ROWS + 1);
  // Dismissals and records of consumers have no seal.
  const rows = (await secrets.countVersions(from.id)) + (await grants.countOf(from.id));
  if (rows > MOST_ROWS || bytes > MOST_BYTES)
    throw errors.secretTooLargeToRename(MOST_ROWS, MOST_BYTES);
  await resealSecret({ keys, current: await currentKey(keys, transaction) }, transaction, from, to);
  await grants.sealFor(from, to);
}
