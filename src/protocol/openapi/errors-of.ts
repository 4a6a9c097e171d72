import type { OperationDefinition } from "../define-operation.ts";
import type { ErrorCode } from "../error-codes.ts";

const commonErrors: readonly ErrorCode[] = [
  "invalid_request",
  "too_large",
  "unsupported_media_type",
  "misdirected_request",
  "internal",
  "unavailable",
];
const accessTokenErrors: readonly ErrorCode[] = ["invalid_token", "email_mismatch", "rate_limited"];

/** Returns every error code that the operation may respond with. */
export function errorsOf({ authentication, errors }: OperationDefinition): readonly ErrorCode[] {
  return [
    ...commonErrors,
    ...(authentication === "access-token" ? accessTokenErrors : []),
    ...errors,
  ];
}
