import { isHttps } from "../accounts/cookies.ts";

/**
 * Allows the application's own files and operations only, nothing inline
 * (docs/design/security.md#web-session).
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  // No script of the application turns text into HTML, code or a script's URL; a dependency that
  // does fails.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const UNUSED_FEATURES = [
  "camera",
  "display-capture",
  "geolocation",
  "microphone",
  "payment",
  "usb",
];

/**
 * Returns the headers that isolate a page of the web application. The clipboard is allowed, for
 * copying tokens and values.
 */
export function pageHeaders(appUrl: string): Record<string, string> {
  return {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": UNUSED_FEATURES.map((feature) => `${feature}=()`).join(", "),
    ...(isHttps(appUrl) && { "strict-transport-security": "max-age=31536000" }),
  };
}
