import { isHttps } from "../accounts/session-cookie.ts";

/** Nothing but the application's own files and operations; nothing inline. Source: design, "security", "web token page". */
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
].join("; ");

const UNUSED_FEATURES = ["camera", "display-capture", "geolocation", "microphone", "payment", "usb"];

/** What keeps a page of the web application to itself. The clipboard stays allowed: tokens and values are copied. */
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
