import { errors } from "../errors.ts";
import type { NamedAccess, SecretAccess } from "../store/records.ts";
import type { Transaction } from "../store/store.ts";

/** Secrets of one name that the caller can access, own and received ones. */
export interface Candidates {
  /** The caller's canonical email. */
  readonly email: string;
  readonly accessible: readonly NamedAccess[];
}

export function isOwn(email: string, { secret }: SecretAccess): boolean {
  return secret.owner === email;
}

function onlyOne(accessible: readonly NamedAccess[]): NamedAccess | undefined {
  if (accessible.length > 1) throw errors.ambiguousName();
  return accessible[0];
}

function ofOwner(
  accessible: readonly NamedAccess[],
  owner: string | undefined,
): readonly NamedAccess[] {
  return owner === undefined
    ? accessible
    : accessible.filter(({ secret }) => secret.owner === owner);
}

/**
 * Returns the caller's own secret for an unshared operation that creates a missing one.
 * @throws ServiceError `use_link_operation` when it is shared
 */
export function pickOwnUnshared({ email, accessible }: Candidates): NamedAccess | undefined {
  const own = accessible.find((access) => isOwn(email, access));
  if (own?.shared) throw errors.useLinkOperation();
  return own;
}

/**
 * Returns the caller's own secret for an unshared operation that reads
 * (docs/design/vault-contract.md#families-of-operations).
 * @throws ServiceError `use_link_operation` when it is shared, or only a received one has the name;
 * `secret_not_found`
 */
export function pickUnshared(candidates: Candidates): NamedAccess {
  const own = pickOwnUnshared(candidates);
  if (own) return own;
  throw candidates.accessible.length > 0 ? errors.useLinkOperation() : errors.secretNotFound();
}

/**
 * Returns the received or own shared secret for a link operation
 * (docs/design/vault-contract.md#families-of-operations).
 * @throws ServiceError `ambiguous_name` when several have the name and no owner is given;
 * `use_unshared_operation`; `secret_not_found`
 */
export function pickLinked({ accessible }: Candidates, owner: string | undefined): NamedAccess {
  const asked = ofOwner(accessible, owner);
  const linked = onlyOne(asked.filter((access) => access.shared));
  if (linked) return linked;
  if (asked.length === 0) throw errors.secretNotFound();
  throw errors.useUnsharedOperation();
}

/**
 * Returns the secret, shared or not, own or received. Without an owner the caller's own takes
 * precedence: a sender cannot make a name ambiguous by sharing a secret.
 * @throws ServiceError `ambiguous_name`, `secret_not_found`
 */
export function pickAny({ email, accessible }: Candidates, owner: string | undefined): NamedAccess {
  const own = owner === undefined ? accessible.find((access) => isOwn(email, access)) : undefined;
  const picked = own ?? onlyOne(ofOwner(accessible, owner));
  if (!picked) throw errors.secretNotFound();
  return picked;
}

/**
 * Returns the secret that another user created. @throws ServiceError `ambiguous_name`,
 * `secret_not_found`
 */
export function pickReceived(
  { email, accessible }: Candidates,
  owner: string | undefined,
): NamedAccess {
  return pickAny(
    { email, accessible: accessible.filter((access) => !isOwn(email, access)) },
    owner,
  );
}

/**
 * Returns the access to a secret with the permission that the server itself has granted, before a
 * value is read or written. Own secrets need no grant: their values are sealed with the owner.
 * @throws ServiceError `forbidden` when no authentic grant remains
 */
export function authenticAccess(
  { grants }: Transaction,
  email: string,
  access: NamedAccess,
): SecretAccess {
  if (isOwn(email, access)) return access;
  const permission = grants.authenticPermission(access, email);
  if (permission === undefined) throw errors.damagedShare();
  return { ...access, permission };
}
