import { InvalidScopeError, parseScope } from "../../../protocol/parse-scope.ts";
import type { VaultContext } from "../context.ts";
import { errors } from "../errors.ts";

/**
 * Checks the scope and the lifetime of a token before its user is authenticated.
 * @throws ServiceError `invalid_scope`; `invalid_request` when the server allows only shorter
 * lifetimes
 */
export function requireTokenRules(
  { maxTokenHours }: VaultContext,
  scope: string,
  hours: number,
): void {
  try {
    parseScope(scope);
  } catch (error) {
    if (error instanceof InvalidScopeError) throw errors.invalidScope(error.message);
    throw error;
  }
  if (hours > (maxTokenHours ?? Infinity))
    throw errors.invalidRequest("expiration_hours", `must be at most ${maxTokenHours}`);
}
