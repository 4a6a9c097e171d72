import type { UnshareRecord } from "../../protocol/responses.ts";
import type { Recipients } from "../../protocol/schemas/recipients.ts";
import type { Caller } from "../accounts/authenticate.ts";
import { writeAs } from "../accounts/write-as.ts";
import type { VaultContext } from "../context.ts";
import { requireCreator } from "../access/permission.ts";
import { candidates } from "../secrets/find-secret.ts";
import { forEachUniqueName } from "../secrets/for-each-unique-name.ts";
import type { Grantee } from "../store/records.ts";

function nameOf(grantee: Grantee): string {
  return grantee.kind === "person" ? grantee.email : grantee.groupId;
}

function matches(from: Recipients | undefined, grantee: Grantee): boolean {
  if (!from) return true;
  if (grantee.kind === "team") return from.kind === "team" && from.groupId === grantee.groupId;
  return from.kind === "users" && from.emails.includes(grantee.email);
}

/**
 * Revokes grants of the caller's secrets from these users or this team, or all grants when none is named: all names, or none.
 * Returns the revoked grants, which may be empty. A secret without grants is unshared.
 * @throws ServiceError `secret_not_found`, `out_of_scope`, `forbidden`
 */
export async function unshare(
  context: VaultContext,
  caller: Caller,
  names: readonly string[],
  from: Recipients | undefined,
): Promise<UnshareRecord[]> {
  const now = context.clock.now();
  return writeAs(context, caller, async (transaction) => {
    const { grants } = transaction;
    const unshared = await forEachUniqueName(names, async (name) => {
      const { secret } = requireCreator(await candidates(transaction, caller, name, now), caller.scope);
      const revoked = (await grants.grantees(secret.id)).filter((grantee) => matches(from, grantee));
      await grants.revoke(secret.id, revoked);
      return revoked.map((grantee) => ({ key_name: name, from: nameOf(grantee) }));
    });
    return unshared.flat();
  });
}
