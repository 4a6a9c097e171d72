/**
 * Header in which every request with the session's cookie, except `app_session`, sends the
 * session's `csrf_token`.
 */
export const CSRF_HEADER = "x-csrf-token";

/**
 * Header in which a client names the resource that a value is read for,
 * `cluster/namespace/Kind/name`.
 */
export const CONSUMER_HEADER = "vaultsync-consumer";

/**
 * Header, with the value `true`, of the response to an authenticated request whose
 * `x-forwarded-for` or `forwarded` header the server ignored, because it does not trust the proxy.
 * It can be missing from a list or a file that is streamed.
 */
export const IGNORED_FORWARDED_HEADER = "x-ignored-forwarded";

/** Returns the text of a header whose bytes are UTF-8: clients send one byte for each character. */
export function utf8Header(text: string): string {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
