import type { SecretRecord } from "../../../protocol/responses.ts";
import { requireCreator, requireReach } from "../access/permission.ts";
import { type Caller, writeWide } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { chargeChanges } from "../protection/token-buckets.ts";
import { withinQuota } from "../protection/within-quota.ts";
import { requireVersion } from "../secrets/change-rules.ts";
import { ownCandidates } from "../secrets/find-secret.ts";
import { secretRecord } from "../secrets/secret-record.ts";
import { freeSecretName, sealForName } from "./secret-names.ts";

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
  return writeWide(context, caller, async (transaction) => {
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
    if (access.shared) chargeChanges(context, caller, await grants.countOf(secret.id));
    const renamed = { ...secret, name: newName };
    return withinQuota(context, transaction, { owner }, async () => {
      await sealForName(context, transaction, secret, renamed);
      await handOver.moveSecret(secret.id, owner, newName);
      return secretRecord({ ...access, secret: renamed }, latest, now);
    });
  });
}
