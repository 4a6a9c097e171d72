import { isIP } from "node:net";

/** Where and how to hand messages over. `user` and `password` are there together or not at all. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** `implicit`: from the first byte. `required`: by STARTTLS or not at all. `offered`: when the server offers it. `none`: never. */
  readonly tls: "implicit" | "required" | "offered" | "none";
  readonly user?: string;
  readonly password?: string;
}

const FORM = "write smtp://HOST:PORT or smtps://HOST:PORT, with user:password@ before the host where the server wants them";

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error("the SMTP URL's user or password is not percent-encoded as it should be");
  }
}

function tlsOf(url: URL, host: string): SmtpServer["tls"] {
  const [unknown] = [...url.searchParams.keys()].filter((name) => name !== "requireTLS");
  if (unknown !== undefined) throw new Error("the SMTP URL knows no parameter but requireTLS");
  const asked = url.searchParams.get("requireTLS");
  if (asked !== null && asked !== "true" && asked !== "false") throw new Error("requireTLS in the SMTP URL is true or false");
  if (url.protocol === "smtps:") return "implicit";
  if (asked === "true") return "required";
  // A server on this machine often has a certificate that nobody vouches for, and there is nobody in between.
  if (isLoopback(host)) return "none";
  return asked === "false" ? "offered" : "required";
}

/**
 * Reads `smtp://` and `smtps://` addresses. Without a port: 587, 465 for `smtps`. STARTTLS is required but on this machine; `requireTLS`
 * says otherwise. Passwords go nowhere without TLS but on this machine.
 * @throws Error that says what to write, without quoting the URL
 */
export function parseSmtpUrl(text: string): SmtpServer {
  const url = URL.parse(text.trim());
  if (!url || !["smtp:", "smtps:"].includes(url.protocol) || url.hostname === "" || !["", "/"].includes(url.pathname)) {
    throw new Error(`the SMTP URL cannot be read: ${FORM}`);
  }
  const host = decoded(url.hostname.replace(/^\[(.*)\]$/, "$1"));
  const tls = tlsOf(url, host);
  const port = url.port === "" ? (tls === "implicit" ? 465 : 587) : Number(url.port);
  if (url.username === "" && url.password === "") return { host, port, tls };
  if (url.username === "" || url.password === "") throw new Error(`the SMTP URL has a user or a password only: ${FORM}`);
  if (tls === "offered") throw new Error("refusing to send an SMTP password without TLS: leave out requireTLS=false");
  return { host, port, tls, user: decoded(url.username), password: decoded(url.password) };
}
