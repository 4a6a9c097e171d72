/** Target of forwarded lines of the audit log. */
export type ForwardTarget =
  | { readonly kind: "stdout" }
  | { readonly kind: "tls" | "tcp" | "udp"; readonly host: string; readonly port: number };

/** Registered ports of syslog over each transport (RFC 5425, RFC 6587, RFC 5426). */
const DEFAULT_PORTS = { tls: 6514, tcp: 601, udp: 514 } as const;

const FORM =
  "expected stdout, or a syslog server as syslog+tls://HOST:PORT, syslog+tcp://HOST:PORT or syslog+udp://HOST:PORT";

/** Parses `stdout` or the URL of a syslog server. @throws Error with the expected forms */
export function parseForwardTarget(text: string): ForwardTarget {
  if (text === "stdout") return { kind: "stdout" };
  const [, kind] = /^syslog\+(tls|tcp|udp):\/\//u.exec(text) ?? [];
  const url = URL.parse(text);
  if ((kind !== "tls" && kind !== "tcp" && kind !== "udp") || !url?.hostname) throw new Error(FORM);
  const isPlain = [url.username, url.password, url.search, url.hash].every((part) => part === "");
  if (!isPlain || !["", "/"].includes(url.pathname)) throw new Error(FORM);
  const port = url.port === "" ? DEFAULT_PORTS[kind] : Number(url.port);
  return { kind, host: url.hostname.replace(/^\[(.*)\]$/u, "$1"), port };
}
