import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { CSRF_HEADER } from "../../../protocol/headers.ts";
import { errors } from "../errors.ts";

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/**
 * Returns the CSRF token of a session. It is a one-way hash, so it does not reveal the session
 * token.
 */
export function csrfToken(sessionToken: string): string {
  return sha256(`csrf:${sessionToken}`).toString("base64url");
}

/**
 * Rejects requests of other origins. Browsers send `origin` with every POST; other clients omit it.
 * @throws ServiceError `csrf_failed`
 */
export function requireOwnOrigin({ origin }: IncomingHttpHeaders, appUrl: string): void {
  if (origin === undefined || origin === appUrl) return;
  throw errors.foreignOrigin(appUrl);
}

/**
 * Requires the own origin and the CSRF token: rejects a forged request with the cookie.
 * @throws ServiceError `csrf_failed`
 */
export function requireCsrfToken(
  headers: IncomingHttpHeaders,
  appUrl: string,
  sessionToken: string,
): void {
  requireOwnOrigin(headers, appUrl);
  if (timingSafeEqual(sha256(String(headers[CSRF_HEADER])), sha256(csrfToken(sessionToken))))
    return;
  throw errors.csrfTokenMismatch(CSRF_HEADER);
}
