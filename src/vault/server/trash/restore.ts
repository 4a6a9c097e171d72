import type { RestoredRecord } from "../../../protocol/responses.ts";
import { filenameProblem } from "../../../protocol/names.ts";
import { requireUnlimited } from "../access/permission.ts";
import { type Caller, type Charge, writeWide } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";
import { resealFile } from "../hand-over/reseal.ts";
import { withinQuota } from "../protection/within-quota.ts";
import { beyondUnaccepted } from "../protection/within-unaccepted.ts";
import { currentKey } from "../store/current-key.ts";
import type { FileIdentity } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import type { TrashEntry } from "../store/tables/trash-table.ts";
import { findEntry } from "./delete-from-trash.ts";
import { freeSecretName, sealForName } from "../renaming/rename-secret.ts";

/** A restored entry and the name that it gets. */
interface Restored {
  readonly entry: TrashEntry;
  readonly name: string;
  readonly now: number;
}

/**
 * Restores the grants of a secret with `change`, within the limits of what its recipients have
 * accepted: those who would get more do not get it back.
 */
async function withGrants(
  context: VaultContext,
  transaction: Transaction,
  charge: Charge,
  secretId: string,
  change: () => Promise<void>,
): Promise<void> {
  const { grants } = transaction;
  const recipients = await grants.recipients(secretId);
  charge(recipients.length);
  const { beyond } = await beyondUnaccepted(context, transaction, recipients, change);
  for (const recipient of beyond.keys()) await grants.dismissShare(secretId, recipient);
}

async function restoreSecret(
  context: VaultContext,
  transaction: Transaction,
  charge: Charge,
  restored: Restored,
): Promise<RestoredRecord> {
  const { trash, secrets } = transaction;
  const { entry, name, now } = restored;
  const { id, owner } = entry;
  await freeSecretName(transaction, owner, name, now);
  await withGrants(context, transaction, charge, id, async () => {
    if (name !== entry.name) await sealForName(context, transaction, entry, { id, owner, name });
    await trash.restore("secret", id, name);
  });
  const found = await secrets.ownAccess(owner, name, now);
  if (!found) throw errors.trashEntryNotFound();
  return { id, kind: "secret", name, version: found.latest.version, shared: found.shared };
}

/** Versions that one transaction seals again without delaying other writers for a second. */
const MOST_VERSIONS = 1_000;

/** Seals the versions of a file for another name. @throws ServiceError `too_large` */
async function sealFile(
  { keys }: VaultContext,
  transaction: Transaction,
  from: FileIdentity,
  to: FileIdentity,
): Promise<void> {
  const some = await transaction.files.versions(from.id, 0, MOST_VERSIONS + 1);
  if (some.length > MOST_VERSIONS) throw errors.fileTooLargeToRename(MOST_VERSIONS);
  const current = await currentKey(keys, transaction);
  await resealFile({ keys, current }, transaction, from, to);
}

async function restoreFile(
  context: VaultContext,
  transaction: Transaction,
  { entry, name, now }: Restored,
): Promise<RestoredRecord> {
  const { trash, files, handOver } = transaction;
  const { id, owner } = entry;
  const problem =
    name === entry.name ? undefined : filenameProblem(name, context.limits.nameCharacters);
  if (problem !== undefined) throw errors.invalidRequest("name", problem);
  if (await handOver.hasName("file", owner, name, now)) throw errors.nameTaken();
  if (name !== entry.name) await sealFile(context, transaction, entry, { id, owner, name });
  await trash.restore("file", id, name);
  const latest = await files.latest(id);
  if (!latest) throw errors.trashEntryNotFound();
  return { id, kind: "file", name, version: latest.version, shared: false };
}

/**
 * Restores entries of the caller's trash, with versions, metadata and grants: all of them, or none
 * on any failure. Grants of teams and users that are gone are gone too.
 * @param newName another name, for one entry
 * @throws ServiceError `out_of_scope`, `trash_entry_not_found`, `name_taken`, `too_large`,
 * `quota_exceeded`; `invalid_request` for a name that no file can have
 */
export async function restoreFromTrash(
  context: VaultContext,
  caller: Caller,
  ids: readonly string[],
  newName: string | undefined,
): Promise<RestoredRecord[]> {
  requireUnlimited(caller.scope);
  const now = context.clock.now();
  return writeWide(context, caller, (transaction, charge) =>
    withinQuota(context, transaction, { owner: caller.email, restores: true }, async () => {
      const restored: RestoredRecord[] = [];
      for (const id of new Set(ids)) {
        const entry = await findEntry(transaction, caller, id, now);
        const name = newName ?? entry.name;
        const one = { entry, name, now };
        restored.push(
          entry.kind === "secret"
            ? await restoreSecret(context, transaction, charge, one)
            : await restoreFile(context, transaction, one),
        );
      }
      return restored;
    }),
  );
}
