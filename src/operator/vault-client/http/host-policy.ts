import { lookup as systemLookup, type LookupAddress, type LookupAllOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { RefusedCode } from "../vault-error.ts";

/** The hosts that a connection may use (docs/design/engine.md#host-policy). */
export interface HostPolicy {
  /** Allows plain HTTP and vaults on the loopback interface. For development. */
  readonly allowHttp: boolean;
  /**
   * The only hosts allowed, if given: exact names or addresses, or `*.example.com` for every name
   * below it.
   */
  readonly allowedHosts: readonly string[] | undefined;
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [network = "", prefix = ""] = range.split("/");
    list.addSubnet(network, Number(prefix), isIP(network) === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

/**
 * Link-local, multicast and unspecified addresses, and the addresses at which clouds serve instance
 * credentials. Never allowed.
 */
const forbidden = blockList([
  "0.0.0.0/8",
  "169.254.0.0/16",
  "224.0.0.0/3",
  "100.100.100.200/32", // Alibaba Cloud
  "168.63.129.16/32", // Azure
  "192.0.0.192/32", // Oracle Cloud
  "::/128",
  "fe80::/10",
  "ff00::/8",
  "fd00:ec2::254/128", // AWS
  "fd20:ce::254/128", // Google Cloud
  // Prefixes of addresses that embed an IPv4 address. A gateway would connect to that address.
  "64:ff9b::/96",
  "2002::/16",
  "2001::/32",
]);
const loopback = blockList(["127.0.0.0/8", "::1/128"]);

/**
 * Reports whether a socket may be opened to this address. Private networks are allowed: that is
 * where a vault usually is. An IPv4 address mapped into IPv6 is checked as IPv4.
 */
export function addressAllowed(address: string, policy: HostPolicy): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (isIP(address) === 0 || forbidden.check(address, family)) return false;
  return policy.allowHttp || !loopback.check(address, family);
}

/** Reports whether a host is one of these names and addresses, or below a wildcard. */
export function matchesHost(hostname: string, entries: readonly string[]): boolean {
  return entries.some((entry) => {
    const host = entry.toLowerCase();
    return host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host;
  });
}

/**
 * Returns the host of a URL in lower case, without the brackets of IPv6 and without the trailing
 * dot.
 */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

/** Returns the reason to refuse a base address before any DNS lookup, or `undefined`. */
export function refusalOf(url: URL, policy: HostPolicy): RefusedCode | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") return "url";
  if ([url.username, url.password, url.search, url.hash].some((part) => part !== "")) return "url";
  if (url.protocol === "http:" && !policy.allowHttp) return "insecure";
  const host = hostOf(url);
  if (policy.allowedHosts && !matchesHost(host, policy.allowedHosts)) return "host";
  return isIP(host) !== 0 && !addressAllowed(host, policy) ? "address" : undefined;
}

/** The name resolves to a forbidden address. */
export class AddressRefusedError extends Error {
  readonly address: string;

  constructor(address: string) {
    super("the address is refused");
    this.address = address;
  }
}

export type LookupAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Returns a lookup function for `net.connect`: the socket connects to the checked addresses,
 * because a second lookup could return others. One forbidden address refuses the name.
 */
export function policyLookup(policy: HostPolicy, lookup: LookupAll = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "", 0);
      const refused = addresses.find(({ address }) => !addressAllowed(address, policy));
      if (refused !== undefined) return callback(new AddressRefusedError(refused.address), "", 0);
      const [first] = addresses;
      if (options.all) return callback(null, addresses);
      return callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}
