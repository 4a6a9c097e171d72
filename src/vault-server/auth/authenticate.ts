import { parseScope } from "../../protocol/parse-scope.ts";
import type { Scope } from "../../protocol/scope.ts";
import type { VaultContext } from "../context.ts";
import { ServiceError } from "../service-error.ts";
import { canonicalEmail } from "../../protocol/email-address.ts";
import { tokenDigest } from "./opaque-token.ts";
import { takeTurn } from "./request-rate.ts";

/** Whom a request comes from, by its token. */
export interface Caller {
  /** Canonical. */
  readonly email: string;
  readonly scope: Scope;
}

/**
 * The owner of the bare access token in `authorization`, who must be the one the request names.
 * @throws ServiceError `invalid_token`, `rate_limited` or `email_mismatch`, in this order
 */
export async function authenticate(context: VaultContext, authorization: string | undefined, email: string): Promise<Caller> {
  const digest = tokenDigest(authorization ?? "");
  const token = await context.store.read(({ tokens }) => tokens.findAccess(digest));
  if (!token || token.expiresAt <= context.clock.now()) {
    throw new ServiceError(
      "invalid_token",
      "the access token is missing, unknown or expired: send it bare, without a scheme word",
    );
  }
  takeTurn(context, digest);
  if (canonicalEmail(email) !== token.email) {
    throw new ServiceError("email_mismatch", "email is not the owner of the access token");
  }
  return { email: token.email, scope: parseScope(token.scope) };
}
