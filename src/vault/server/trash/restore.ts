import type { RestoredRecord } from "../../../protocol/responses.ts";
import { requireUnlimited } from "../access/permission.ts";
import { type Caller, writeWide } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors, ServiceError } from "../errors.ts";
import { openDigest, sealDigest } from "../files/blob.ts";
import { resealFile } from "../hand-over/reseal.ts";
import { chargeChanges } from "../protection/token-buckets.ts";
import { withinQuota } from "../protection/within-quota.ts";
import { withinUnaccepted } from "../protection/within-unaccepted.ts";
import { continueNumbers, freeSecretName, sealForName } from "../renaming/secret-names.ts";
import { currentKey } from "../store/current-key.ts";
import type { Transaction } from "../store/store.ts";
import type { TrashEntry } from "../store/tables/trash-table.ts";
import { findEntry } from "./delete-from-trash.ts";

/** A restored entry and the name that it gets. */
interface Restored {
  readonly entry: TrashEntry;
  readonly name: string;
  readonly now: number;
}

/**
 * Returns the number after the highest one that others have used under the name that an entry gets:
 * call it when the name is free, and before the entry has it.
 */
async function nextNumber(
  transaction: Transaction,
  caller: Caller,
  { entry: { kind, id, owner }, name, now }: Restored,
): Promise<number> {
  const next = await transaction.trash.nextVersion(kind, owner, name, id);
  const entry = await findEntry(transaction, caller, id, now);
  return name === entry.name ? Math.max(next, entry.usedVersion + 1) : next;
}

/**
 * Restores the grants of a secret with `change`, within the limits of what its recipients have
 * accepted; beyond them the secret is restored without grants.
 */
async function withGrants(
  context: VaultContext,
  transaction: Transaction,
  caller: Caller,
  secretId: string,
  change: () => Promise<void>,
): Promise<void> {
  const { grants } = transaction;
  const recipients = await grants.recipients(secretId);
  chargeChanges(context, caller, recipients.length);
  try {
    await withinUnaccepted(context, transaction, recipients, change);
  } catch (error) {
    // The change itself is done.
    if (!(error instanceof ServiceError && error.code === "quota_exceeded")) throw error;
    await grants.revoke(secretId, await grants.grantees(secretId));
  }
}

async function restoreSecret(
  context: VaultContext,
  transaction: Transaction,
  caller: Caller,
  restored: Restored,
): Promise<RestoredRecord> {
  const { trash, secrets } = transaction;
  const { entry, name, now } = restored;
  const { id, owner } = entry;
  await freeSecretName(transaction, owner, name, now);
  const next = await nextNumber(transaction, caller, restored);
  await withGrants(context, transaction, caller, id, async () => {
    if (name !== entry.name) await sealForName(context, transaction, entry, { id, owner, name });
    await trash.restore("secret", id, name);
  });
  const found = await secrets.ownAccess(owner, name, now);
  if (!found) throw errors.trashEntryNotFound();
  const latest = await continueNumbers(context, transaction, found.secret, found.latest, next);
  return { id, kind: "secret", name, version: latest.version, shared: found.shared };
}

async function restoreFile(
  { keys }: VaultContext,
  transaction: Transaction,
  caller: Caller,
  restored: Restored,
): Promise<RestoredRecord> {
  const { trash, files, handOver } = transaction;
  const { entry, name, now } = restored;
  const { id, owner } = entry;
  if (await handOver.hasName("file", owner, name, now)) throw errors.nameTaken();
  const next = await nextNumber(transaction, caller, restored);
  const current = await currentKey(keys, transaction);
  const named = { id, owner, name };
  if (name !== entry.name) await resealFile({ keys, current }, transaction, entry, named);
  await trash.restore("file", id, name);
  const [file, latest] = [await files.find(owner, name), await files.latest(id)];
  if (!file || !latest) throw errors.trashEntryNotFound();
  if (latest.version >= next)
    return { id, kind: "file", name, version: latest.version, shared: false };
  // The bytes belong to one version, so it moves to the new number.
  const version = Math.max(next, file.nextVersion);
  const { key, sha256 } = openDigest({ keys }, named, latest);
  const blob = { id: latest.blobId, size: latest.size, sha256, key };
  await handOver.replaceDigest(id, latest.version, sealDigest(current, named, version, blob));
  key.fill(0);
  await files.renumber(id, latest.version, version);
  await files.update({ ...file, nextVersion: version + 1 });
  return { id, kind: "file", name, version, shared: false };
}

/**
 * Restores entries of the caller's trash, with versions, metadata and grants: all of them, or none
 * on any failure. Grants of teams and users that are gone are gone too.
 * @param newName another name, for one entry
 * @throws ServiceError `out_of_scope`, `trash_entry_not_found`, `name_taken`, `too_large`,
 * `quota_exceeded`
 */
export async function restoreFromTrash(
  context: VaultContext,
  caller: Caller,
  ids: readonly string[],
  newName: string | undefined,
): Promise<RestoredRecord[]> {
  requireUnlimited(caller.scope);
  const now = context.clock.now();
  return writeWide(context, caller, (transaction) =>
    withinQuota(context, transaction, { owner: caller.email, restores: true }, async () => {
      const restored: RestoredRecord[] = [];
      for (const id of new Set(ids)) {
        const entry = await findEntry(transaction, caller, id, now);
        const name = newName ?? entry.name;
        const one = { entry, name, now };
        restored.push(
          entry.kind === "secret"
            ? await restoreSecret(context, transaction, caller, one)
            : await restoreFile(context, transaction, caller, one),
        );
      }
      return restored;
    }),
  );
}
