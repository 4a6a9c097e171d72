import type { Caller } from "../accounts/authenticate.ts";
import { pickLinked, pickUnshared, type Candidates } from "../access/pick-secret.ts";
import { requireReach } from "../access/permission.ts";
import type { SecretAccess } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

/**
 * A secret as addressed by a request: the caller's own unshared secret, or a shared one, with its
 * owner where names are ambiguous.
 */
export type SecretAddress =
  | { readonly family: "unshared"; readonly name: string }
  | { readonly family: "link"; readonly name: string; readonly owner: string | undefined };

/** Returns all secrets of this name the caller has access to. */
export async function candidates(
  { secrets }: Transaction,
  caller: Caller,
  name: string,
  now: number,
): Promise<Candidates> {
  return { email: caller.email, accessible: await secrets.accessByName(caller.email, name, now) };
}

/**
 * Picks the addressed secret.
 * @throws ServiceError `secret_not_found`, `use_link_operation`, `use_unshared_operation`,
 * `ambiguous_name`, then `out_of_scope`
 */
export function pickSecret(
  found: Candidates,
  { scope }: Caller,
  address: SecretAddress,
): SecretAccess {
  const picked = address.family === "link" ? pickLinked(found, address.owner) : pickUnshared(found);
  requireReach(scope, address.name, picked.latest.metadata);
  return picked;
}

/** @throws ServiceError of `pickSecret` */
export async function findSecret(
  transaction: Transaction,
  caller: Caller,
  address: SecretAddress,
  now: number,
): Promise<SecretAccess> {
  return pickSecret(await candidates(transaction, caller, address.name, now), caller, address);
}
