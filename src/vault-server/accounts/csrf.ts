import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { CSRF_HEADER } from "../../protocol/csrf-header.ts";
import { errors } from "../errors.ts";

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

/** What only a page that was told the session's answer can send. It gives no way back to the session's token. */
export function csrfToken(sessionToken: string): string {
  return sha256(`csrf:${sessionToken}`).toString("base64url");
}

/** Browsers say whose page sends a POST; other clients say nothing. @throws ServiceError `csrf_failed` when it is another origin's */
export function requireOwnOrigin({ origin }: IncomingHttpHeaders, appUrl: string): void {
  if (origin === undefined || origin === appUrl) return;
  throw errors.foreignOrigin(appUrl);
}

/** Both of them: a request that rides on somebody's cookie is refused. @throws ServiceError `csrf_failed` */
export function requireOwnPage(headers: IncomingHttpHeaders, appUrl: string, sessionToken: string): void {
  requireOwnOrigin(headers, appUrl);
  if (timingSafeEqual(sha256(String(headers[CSRF_HEADER])), sha256(csrfToken(sessionToken)))) return;
  throw errors.csrfTokenMismatch(CSRF_HEADER);
}
