import { isLoopback } from "../../../lib/loopback.ts";

/**
 * SMTP server that messages are submitted to. `user` and `password` are both set or both undefined.
 */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /**
   * `implicit`: from the first byte. `required`: by a STARTTLS that must succeed. `offered`: when
   * the server offers it. `none`: never.
   */
  readonly tls: "implicit" | "required" | "offered" | "none";
  readonly user?: string;
  readonly password?: string;
}

const FORM =
  "expected smtp://HOST:PORT or smtps://HOST:PORT, with user:password@ before the host if the server requires a login";

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error("invalid SMTP URL: the user or password is not percent-encoded");
  }
}

function tlsOf(url: URL, host: string): SmtpServer["tls"] {
  const [unknown] = [...url.searchParams.keys()].filter((name) => name !== "requireTLS");
  if (unknown !== undefined) throw new Error("invalid SMTP URL: the only parameter is requireTLS");
  const asked = url.searchParams.get("requireTLS");
  if (asked !== null && asked !== "true" && asked !== "false")
    throw new Error("invalid SMTP URL: requireTLS must be true or false");
  if (url.protocol === "smtps:") return "implicit";
  if (asked === "true") return "required";
  // A local server often has a self-signed certificate, and loopback traffic cannot be intercepted.
  if (isLoopback(host)) return "none";
  return asked === "false" ? "offered" : "required";
}

/**
 * Parses an `smtp://` or `smtps://` URL. The default port is 587, or 465 for `smtps`. STARTTLS is
 * required except for loopback addresses, unless `requireTLS` overrides it. A password requires TLS
 * except for loopback addresses.
 * @throws Error with the expected form; it does not quote the URL
 */
export function parseSmtpUrl(text: string): SmtpServer {
  const url = URL.parse(text.trim());
  if (
    !url ||
    !["smtp:", "smtps:"].includes(url.protocol) ||
    url.hostname === "" ||
    !["", "/"].includes(url.pathname)
  ) {
    throw new Error(`invalid SMTP URL: ${FORM}`);
  }
  const host = decoded(url.hostname.replace(/^\[(.*)\]$/, "$1"));
  const tls = tlsOf(url, host);
  const port = url.port === "" ? (tls === "implicit" ? 465 : 587) : Number(url.port);
  if (url.username === "" && url.password === "") return { host, port, tls };
  if (url.username === "" || url.password === "")
    throw new Error(`invalid SMTP URL: user and password require each other: ${FORM}`);
  if (tls === "offered")
    throw new Error("refusing to send an SMTP password without TLS: remove requireTLS=false");
  return { host, port, tls, user: decoded(url.username), password: decoded(url.password) };
}
