import type { IncomingMessage } from "node:http";
import { isIPv4, isIPv6 } from "node:net";
import { isLoopback } from "./loopback.ts";

/** Host of an authority (RFC 3986), with an optional port: the address in brackets, or the name. */
const AUTHORITY = /^(?:\[([0-9a-f:.]+)\]|([^\s:@/?#[\]\\,]*))(?::[0-9]*)?$/iu;
/** Authority of a request target in absolute form. */
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/iu;

function isHostHeader(name: string | undefined, index: number): boolean {
  return index % 2 === 0 && name?.toLowerCase() === "host";
}

/**
 * The hosts that a listener serves. A page whose DNS name suddenly means this server (DNS
 * rebinding) sends requests with that name as their host, so names are checked; addresses cannot be
 * rebound.
 */
export class AllowedHosts {
  /** `undefined` for every host. */
  readonly #names: readonly string[] | undefined;

  /**
   * Without names, a listener on loopback accepts addresses and localhost only, and any other
   * listener accepts every host.
   * @param names host names in lower case; `*.example.com` stands for every name below example.com
   */
  constructor(listen: { readonly host: string }, names: readonly string[]) {
    this.#names =
      names.length === 0 && !isLoopback(listen.host) ? undefined : ["localhost", ...names];
  }

  /**
   * Returns whether the request is malformed, for another host, or neither; RFC 9112, section 3.2.
   */
  check({
    url = "",
    headers,
    rawHeaders,
  }: IncomingMessage): "malformed" | "misdirected" | "allowed" {
    const { host } = headers;
    const [, target] = ABSOLUTE_FORM.exec(url) ?? [];
    if (rawHeaders.filter(isHostHeader).length > 1 || (host !== undefined && !AUTHORITY.test(host)))
      return "malformed";
    // HTTP/1.0 has requests without a host; browsers always send one.
    const authority = target ?? host;
    return authority === undefined || this.#allows(authority) ? "allowed" : "misdirected";
  }

  #allows(authority: string): boolean {
    if (this.#names === undefined) return true;
    const [, address, text = ""] = AUTHORITY.exec(authority) ?? [];
    if (address !== undefined) return isIPv6(address);
    const name = text.toLowerCase().replace(/\.$/u, "");
    if (isIPv4(name)) return true;
    return this.#names.some((known) =>
      known.startsWith("*.")
        ? name.length > known.length - 1 && name.endsWith(known.slice(1))
        : name === known,
    );
  }
}
