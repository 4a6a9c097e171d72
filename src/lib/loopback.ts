import { isIP } from "node:net";

/**
 * Reports whether the host is a loopback one: other machines cannot reach it. An IPv6 address has
 * no brackets.
 */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}
