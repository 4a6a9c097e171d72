import type { Scope } from "../../protocol/scope.ts";
import type { Metadata } from "../../protocol/metadata.ts";
import { scopeReaches } from "../../protocol/parse-scope.ts";
import { errors } from "../errors.ts";
import type { SecretAccess } from "../store/records.ts";
import { isOwn, type Candidates } from "./pick-secret.ts";

export function mayRead({ permission }: Pick<SecretAccess, "permission">): boolean {
  return permission !== "W";
}

/** @throws ServiceError `forbidden` */
export function requireRead(holding: SecretAccess): void {
  if (!mayRead(holding)) throw errors.writeOnly();
}

/** @throws ServiceError `forbidden` */
export function requireWrite({ permission }: SecretAccess): void {
  if (permission === "R") throw errors.readOnly();
}

/**
 * The caller's own secret, for what only its creator may do. Source: the interface, "Share grant".
 * @throws ServiceError `secret_not_found`; `out_of_scope`; `forbidden` when only received ones have the name
 */
export function requireCreator({ email, held }: Candidates, scope: Scope): SecretAccess {
  const own = held.find((holding) => isOwn(email, holding));
  const candidates = own ? [own] : held;
  if (candidates.length === 0) throw errors.secretNotFound();
  if (!candidates.some(({ secret, latest }) => scopeReaches(scope, secret.name, latest.metadata))) throw errors.outOfScope();
  if (!own) throw errors.creatorOnly();
  return own;
}

/** @throws ServiceError `out_of_scope` unless the scope includes a secret of this name whose latest version has this metadata */
export function requireReach(scope: Scope, name: string, latest: Metadata): void {
  if (!scopeReaches(scope, name, latest)) throw errors.outOfScope();
}
