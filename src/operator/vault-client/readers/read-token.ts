import { Redacted } from "../../../lib/redacted.ts";
import type { Operation } from "../../../protocol/operation-paths.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import { isObject } from "../../../lib/is-object.ts";

/** A response with tokens, from a login or a refresh. */
export interface TokenResponse {
  readonly accessToken: Redacted<string>;
  readonly refreshToken: Redacted<string> | undefined;
  /** Any finite number, as sent by the vault; `undefined` if it sent none. */
  readonly expiresInSeconds: number | undefined;
}

/** Reports whether a header may contain a text as a token, without encoding. */
export const isToken = (text: string): boolean => /^[\x21-\x7e]{1,16384}$/.test(text);

function readExpiry(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?\d{1,20}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/**
 * Parses a token response. @throws UnexpectedResponse when it has no access token, or one that
 * cannot be sent in a header
 */
export function readToken(operation: Operation, response: unknown): TokenResponse {
  const access = isObject(response) ? response.access_token : undefined;
  if (!isObject(response) || typeof access !== "string" || !isToken(access)) {
    throw new UnexpectedResponse(operation, "access_token");
  }
  const refresh = response.refresh_token;
  return {
    accessToken: new Redacted(access),
    refreshToken: typeof refresh === "string" && refresh !== "" ? new Redacted(refresh) : undefined,
    expiresInSeconds: readExpiry(response.expires_in),
  };
}
