import type { TrashedRecord } from "../../../protocol/responses.ts";
import { type Caller, writeAs } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireCreator, requireReach } from "../access/permission.ts";
import { moveToTrash, Removal, trimTrash } from "../protection/removal.ts";
import { withinUnaccepted } from "../protection/within-unaccepted.ts";
import { errors } from "../errors.ts";
import { requireVersion } from "./change-rules.ts";
import { forEachUniqueName, ownCandidates } from "./find-secret.ts";

export interface Deletion {
  readonly names: readonly string[];
  /** Latest version of each name that the caller knows; any without them. */
  readonly expectedVersions: readonly number[] | undefined;
  /** Bypasses the trash. */
  readonly permanently: boolean;
}

/** Distinct names of deleted secrets. */
export interface DeletedSecrets {
  readonly deleted: readonly string[];
  /** Their entries in the trash; `undefined` after a permanent deletion. */
  readonly trash: TrashedRecord[] | undefined;
}

/**
 * Deletes the caller's secrets, shared or not, for all users: all of them, or none on any failure.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`; of `requireVersion`
 */
export async function deleteSecrets(
  context: VaultContext,
  caller: Caller,
  { names, expectedVersions, permanently }: Deletion,
): Promise<DeletedSecrets> {
  const now = context.clock.now();
  const keeps = context.trashDays > 0 && !permanently;
  return writeAs(context, caller, async (transaction) => {
    const removal = new Removal();
    const found = await forEachUniqueName(names, async (name, index) => {
      const access = requireCreator(
        await ownCandidates(transaction, caller, name, now),
        caller.scope,
      );
      requireVersion(access, expectedVersions?.[index]);
      const { secret } = access;
      if (keeps) await moveToTrash(context, transaction, "secret", secret.id, now);
      else await removal.remove(transaction, { kind: "secret", id: secret.id });
      return { id: secret.id, name };
    });
    if (keeps) await trimTrash(context, transaction, caller.email, found.length);
    return { deleted: found.map(({ name }) => name), trash: keeps ? found : undefined };
  });
}

export interface VersionDeletion {
  readonly name: string;
  readonly version: number;
  /** Latest version that the caller knows; any without it. */
  readonly expectedVersion: number | undefined;
}

/**
 * Deletes one version of the caller's secret, shared or not. Its number is never used again; the
 * next lower version becomes the latest.
 * @throws ServiceError `secret_not_found`; `out_of_scope`, before or after; `forbidden`; of
 * `requireVersion`; `version_not_found`; `last_version`; `quota_exceeded`, when the metadata of the next lower
 * version is too long for recipients
 */
export async function deleteVersion(
  context: VaultContext,
  caller: Caller,
  { name, version, expectedVersion }: VersionDeletion,
): Promise<void> {
  const now = context.clock.now();
  await writeAs(context, caller, async (transaction, charge) => {
    const { secrets } = transaction;
    const access = requireCreator(
      await ownCandidates(transaction, caller, name, now),
      caller.scope,
    );
    const { secret, shared, latest: former } = access;
    requireVersion(access, expectedVersion);
    if (!(await secrets.version(secret.id, version))) throw errors.secretVersionNotFound();
    const emails =
      shared && version === former.version ? await transaction.grants.recipients(secret.id) : [];
    charge(emails.length);
    await withinUnaccepted(context, transaction, emails, () =>
      secrets.removeVersion(secret.id, version),
    );
    const latest = await secrets.latest(secret.id);
    if (!latest) throw errors.lastVersion();
    requireReach(caller.scope, name, latest.metadata);
  });
}
