import { Redacted } from "../../../lib/redacted.ts";
import type { Operation } from "../../../protocol/operations.ts";
import { UnexpectedResponse } from "../vault-error.ts";
import { isObject } from "../../../lib/is-object.ts";
import { field } from "./field.ts";

export interface TokenResponse {
  readonly accessToken: Redacted<string>;
  readonly refreshToken: Redacted<string> | undefined;
  /** As the vault says it, any finite number; `undefined` where it says nothing that is one. */
  readonly expiresInSeconds: number | undefined;
  readonly scope: string | undefined;
}

/** What may stand in a header as it is. */
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

function readExpiry(value: unknown): number | undefined {
  const number = typeof value === "string" && /^-?\d{1,20}$/.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** @throws UnexpectedResponse when there is no access token, or one that cannot be sent in a header */
export function readToken(operation: Operation, answer: unknown): TokenResponse {
  const access = isObject(answer) ? answer.access_token : undefined;
  if (!isObject(answer) || typeof access !== "string" || !TOKEN.test(access)) {
    throw new UnexpectedResponse(operation, "access_token");
  }
  const refresh = answer.refresh_token;
  const scope = field(answer, "scope");
  return {
    accessToken: new Redacted(access),
    refreshToken: typeof refresh === "string" && refresh !== "" ? new Redacted(refresh) : undefined,
    expiresInSeconds: readExpiry(answer.expires_in),
    scope: typeof scope === "string" ? scope : undefined,
  };
}
