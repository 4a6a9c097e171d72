import { isUnlimited, type Scope, scopeReaches } from "../../../protocol/scope.ts";
import type { Metadata } from "../../../protocol/metadata.ts";
import { errors } from "../errors.ts";
import type { SecretAccess } from "../store/records.ts";
import { isOwn, type Candidates } from "./pick-secret.ts";

export function mayRead({ permission }: Pick<SecretAccess, "permission">): boolean {
  return permission !== "W";
}

/** Requires permission to read. @throws ServiceError `forbidden` */
export function requireRead(access: SecretAccess): void {
  if (!mayRead(access)) throw errors.writeOnly();
}

/** Requires permission to write. @throws ServiceError `forbidden` */
export function requireWrite({ permission }: SecretAccess): void {
  if (permission === "R") throw errors.readOnly();
}

/**
 * Returns the caller's own secret, for operations of the creator only.
 * @throws ServiceError `secret_not_found`; `out_of_scope`; `forbidden` when only received ones have
 * the name
 */
export function requireCreator({ email, accessible }: Candidates, scope: Scope): SecretAccess {
  const own = accessible.find((access) => isOwn(email, access));
  const candidates = own ? [own] : accessible;
  if (candidates.length === 0) throw errors.secretNotFound();
  if (!candidates.some(({ secret, latest }) => scopeReaches(scope, secret.name, latest.metadata)))
    throw errors.outOfScope();
  if (!own) throw errors.creatorOnly();
  return own;
}

/**
 * Requires a scope that admits every secret, for changes that no secret's metadata limits: a new
 * member of a team reaches secrets of any scope, and so does another token.
 * @throws ServiceError `out_of_scope`
 */
export function requireUnlimited(scope: Scope): void {
  if (!isUnlimited(scope)) throw errors.limitedScope();
}

/**
 * Requires that the scope includes a secret of this name whose latest version has this metadata.
 * @throws ServiceError `out_of_scope`
 */
export function requireReach(scope: Scope, name: string, latest: Metadata): void {
  if (!scopeReaches(scope, name, latest)) throw errors.outOfScope();
}
