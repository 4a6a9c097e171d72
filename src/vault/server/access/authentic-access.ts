import { errors } from "../errors.ts";
import type { SecretAccess } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";
import { isOwn } from "./pick-secret.ts";

/**
 * Returns the access to a secret with the permission that the server itself has granted, before a
 * value is read or written. Own secrets need no grant: their values are sealed with the owner.
 * @throws ServiceError `forbidden` when no authentic grant remains
 */
export async function authenticAccess(
  { grants }: Transaction,
  email: string,
  access: SecretAccess,
): Promise<SecretAccess> {
  if (isOwn(email, access)) return access;
  const permission = await grants.authenticPermission(access.secret, email);
  if (permission === undefined) throw errors.damagedShare();
  return { ...access, permission };
}
