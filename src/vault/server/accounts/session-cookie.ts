import type { CookieSerializeOptions } from "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * Returns a cookie's name. Over https its prefix makes browsers reject one set by another host or
 * without TLS.
 */
export function cookieName(appUrl: string, kind: "session" | "device"): string {
  return isHttps(appUrl) ? `__Host-vaultsync_${kind}` : `vaultsync_${kind}`;
}

/**
 * Sent to this server only, by requests of its own pages only, hidden from scripts, dropped with
 * the browser.
 */
export function cookieAttributes(appUrl: string): CookieSerializeOptions {
  return { path: "/", httpOnly: true, sameSite: "strict", secure: isHttps(appUrl) };
}

export function isHttps(appUrl: string): boolean {
  return appUrl.startsWith("https://");
}

/** Makes the browser keep the session's token. */
export function setSessionCookie(reply: FastifyReply, appUrl: string, token: string): void {
  reply.setCookie(cookieName(appUrl, "session"), token, cookieAttributes(appUrl));
}

/** Makes the browser delete the session's token. */
export function clearSessionCookie(reply: FastifyReply, appUrl: string): void {
  reply.setCookie(cookieName(appUrl, "session"), "", { ...cookieAttributes(appUrl), maxAge: 0 });
}

/** Returns the session token that the browser sent, or `undefined`. */
export function sentSessionToken(
  { cookies }: Pick<FastifyRequest, "cookies">,
  appUrl: string,
): string | undefined {
  return cookies[cookieName(appUrl, "session")];
}
