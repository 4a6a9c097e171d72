import type { IncomingHttpHeaders } from "node:http";

/** Over https the prefix makes browsers refuse one set by another host or without TLS. Source: design, "security", "web token page". */
function cookieName(appUrl: string): string {
  return isHttps(appUrl) ? "__Host-vaultsync_session" : "vaultsync_session";
}

export function isHttps(appUrl: string): boolean {
  return appUrl.startsWith("https://");
}

/** A `set-cookie` header: sent back to this server alone, by requests of its own pages alone, read by no script, gone with the browser. */
export function sessionCookie(appUrl: string, token: string): string {
  return `${cookieName(appUrl)}=${token}; Path=/; HttpOnly; SameSite=Strict${isHttps(appUrl) ? "; Secure" : ""}`;
}

/** A `set-cookie` header that makes the browser forget the session. */
export function endedSessionCookie(appUrl: string): string {
  return `${sessionCookie(appUrl, "")}; Max-Age=0`;
}

/** The session's token as the browser sent it; `undefined` when it sent none. */
export function sentSessionToken({ cookie }: IncomingHttpHeaders, appUrl: string): string | undefined {
  const start = `${cookieName(appUrl)}=`;
  const pair = cookie?.split(";").find((candidate) => candidate.trim().startsWith(start));
  return pair?.trim().slice(start.length);
}
