import { isObject } from "../../../../src/lib/is-object.ts";
import { Redacted } from "../../../../src/lib/redacted.ts";
import type { TokenRequest } from "../../../../src/operator/kube/client/kube-api.ts";
import { type ObjectRef, SERVICE_ACCOUNTS } from "../../../../src/operator/kube/resource.ts";
import type { Caller } from "./access.ts";
import type { InMemoryApiServer } from "./in-memory-api-server.ts";
import { forbidden, notFound } from "./status-error.ts";

/** Start of the tokens of ServiceAccounts: they must appear nowhere but in a login. */
export const TOKEN_PREFIX = "canary-identity";

/** The claims of a token. Times are milliseconds since the epoch. */
export interface IdentityClaims {
  readonly subject: string;
  readonly audience: string;
  readonly expiresAt: number;
}

const issued = new WeakMap<InMemoryApiServer, number>();

/** Returns a new token of a ServiceAccount, as a TokenRequest does. @throws StatusError */
export function issueToken(
  server: InMemoryApiServer,
  { namespace = "", name }: ObjectRef,
  { audience, lifetimeSeconds }: TokenRequest,
  { user }: Caller,
): Redacted<string> {
  const access = { user, verb: "create", resource: SERVICE_ACCOUNTS, namespace, name } as const;
  if (!server.authorize({ ...access, subresource: "token" })) throw forbidden();
  if (server.find(SERVICE_ACCOUNTS, { namespace, name }) === undefined) throw notFound();
  const number = (issued.get(server) ?? 0) + 1;
  issued.set(server, number);
  const claims: IdentityClaims = {
    subject: `system:serviceaccount:${namespace}:${name}`,
    audience,
    expiresAt: server.clock.now() + lifetimeSeconds * 1_000,
  };
  const encoded = Buffer.from(JSON.stringify(claims)).toString("base64url");
  return new Redacted(`${TOKEN_PREFIX}-${number}.${encoded}`);
}

/** Returns the claims of a token that {@link issueToken} returned. */
export function claimsOf(token: unknown): IdentityClaims | undefined {
  if (typeof token !== "string" || !token.startsWith(TOKEN_PREFIX)) return undefined;
  const claims: unknown = JSON.parse(
    Buffer.from(token.slice(token.indexOf(".") + 1), "base64url").toString(),
  );
  return isObject(claims) ? (claims as unknown as IdentityClaims) : undefined;
}
