import { isObject } from "../../../lib/is-object.ts";
import { Redacted } from "../../../lib/redacted.ts";

/** The token to request for a ServiceAccount. */
export interface TokenRequest {
  /** The service that the token is for: no other one accepts it. */
  readonly audience: string;
  /** Lifetime in seconds, at least 600. The API server may choose another one. */
  readonly lifetimeSeconds: number;
}

/** Returns the object that requests a token; it is never stored. */
export const tokenRequest = ({ audience, lifetimeSeconds }: TokenRequest): object => ({
  apiVersion: "authentication.k8s.io/v1",
  kind: "TokenRequest",
  spec: { audiences: [audience], expirationSeconds: lifetimeSeconds },
});

/** Returns the token in the response to a request. */
export function tokenIn(response: unknown): Redacted<string> | undefined {
  const status = isObject(response) ? response["status"] : undefined;
  const token = isObject(status) ? status["token"] : undefined;
  return typeof token === "string" && token !== "" ? new Redacted(token) : undefined;
}
