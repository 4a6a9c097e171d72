import type { Scope } from "../../protocol/scope.ts";
import { scopeReaches } from "../../protocol/parse-scope.ts";
import { ServiceError } from "../errors.ts";
import type { SecretAccess } from "../store/records.ts";
import { isOwn, secretNotFound, type Candidates } from "./pick-secret.ts";
import { outOfScope } from "./reach.ts";

function forbidden(reason: string): ServiceError {
  return new ServiceError("forbidden", reason);
}

export function mayRead({ permission }: Pick<SecretAccess, "permission">): boolean {
  return permission !== "W";
}

/** @throws ServiceError `forbidden` */
export function requireRead(holding: SecretAccess): void {
  if (!mayRead(holding)) throw forbidden("the secret is shared with you for writing only");
}

/** @throws ServiceError `forbidden` */
export function requireWrite({ permission }: SecretAccess): void {
  if (permission === "R") throw forbidden("the secret is shared with you for reading only");
}

/**
 * The caller's own secret, for what only its creator may do. Source: the interface, "Share grant".
 * @throws ServiceError `secret_not_found`; `out_of_scope`; `forbidden` when only received ones have the name
 */
export function requireCreator({ email, held }: Candidates, scope: Scope): SecretAccess {
  const own = held.find((holding) => isOwn(email, holding));
  const candidates = own ? [own] : held;
  if (candidates.length === 0) throw secretNotFound();
  if (!candidates.some(({ secret, latest }) => scopeReaches(scope, secret.name, latest.metadata))) throw outOfScope();
  if (!own) throw forbidden("only the creator of a secret may do this");
  return own;
}
