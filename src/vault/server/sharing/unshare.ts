import type { UnshareRecord } from "../../../protocol/responses.ts";
import type { Recipients } from "../../../protocol/schemas/recipients.ts";
import { type Caller, writeAs, writeWide } from "../accounts/authenticate.ts";
import type { VaultContext } from "../context.ts";
import { requireCreator, requireReach } from "../access/permission.ts";
import { candidates, forEachUniqueName, ownCandidates, ownerOf } from "../secrets/find-secret.ts";
import { allPages } from "../store/all-pages.ts";
import type { Grantee } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { pickReceived } from "../access/pick-secret.ts";

function nameOf(grantee: Grantee): string {
  return grantee.kind === "person" ? grantee.email : grantee.groupId;
}

function granteesOf(from: Recipients): Grantee[] {
  if (from.kind === "team") return [{ kind: "team", groupId: from.groupId }];
  return from.emails.map((email) => ({ kind: "person", email }));
}

/** Grantees that one statement reads. */
const PAGE_SIZE = 1_000;

const allGrantees = ({ grants }: Transaction, secretId: string): Promise<Grantee[]> =>
  allPages(PAGE_SIZE, (after: Grantee | undefined) => grants.grantees(secretId, after, PAGE_SIZE));

/**
 * Revokes grants of the caller's secrets from these users or this team, or all grants when none is
 * named: all names, or none. Returns the revoked grants, possibly none. A secret without grants is
 * unshared.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`
 */
export async function unshare(
  context: VaultContext,
  caller: Caller,
  names: readonly string[],
  from: Recipients | undefined,
): Promise<UnshareRecord[]> {
  const now = context.clock.now();
  return writeWide(context, caller, async (transaction) => {
    const unshared = await forEachUniqueName(names, async (name) => {
      const { secret } = requireCreator(
        await ownCandidates(transaction, caller, name, now),
        caller.scope,
      );
      const named = from ? granteesOf(from) : await allGrantees(transaction, secret.id);
      const revoked = await transaction.grants.revoke(secret.id, named);
      return revoked.map((grantee) => ({ key_name: name, from: nameOf(grantee) }));
    });
    return unshared.flat();
  });
}

/**
 * Removes a received secret from the caller's secrets only, whether it was shared directly or
 * through teams, until it is shared again. Returns its creator.
 * @throws ServiceError `secret_not_found`, also for its creator; `ambiguous_name`; `out_of_scope`
 */
export async function dismissShare(
  context: VaultContext,
  caller: Caller,
  name: string,
  owner: string | undefined,
): Promise<string> {
  const now = context.clock.now();
  const write = async (transaction: Transaction): Promise<string> => {
    const { secret, latest } = pickReceived(
      await candidates(transaction, caller, name, now),
      owner,
    );
    requireReach(caller.scope, name, latest.metadata);
    await transaction.grants.dismissShare(secret.id, caller.email);
    return secret.owner;
  };
  return writeAs(context, caller, write, { ownerOf: ownerOf(context, caller, name, owner) });
}
