import { lookup as systemLookup, type LookupAddress, type LookupAllOptions } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { RefusedCode } from "../vault-error.ts";

/** Where a connection may point (design: engine, "Host policy"; security, "SSRF"). */
export interface HostPolicy {
  /** Plain HTTP, and a vault on the loopback interface, are for development: both need this. */
  readonly allowHttp: boolean;
  /** When given, only these hosts: exact names or addresses, or `*.example.com` for every name below one. */
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

/** Link-local, multicast and unspecified addresses, and where clouds serve instance credentials. Never allowed. */
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
  // These embed an IPv4 address that a gateway would connect to.
  "64:ff9b::/96",
  "2002::/16",
  "2001::/32",
]);
const loopback = blockList(["127.0.0.0/8", "::1/128"]);

/**
 * May a socket be opened to this address? Private networks are allowed: that is where a vault usually lives. IPv4 addresses mapped
 * into IPv6 are judged as what they are.
 */
export function addressAllowed(address: string, policy: HostPolicy): boolean {
  const family = isIP(address) === 6 ? "ipv6" : "ipv4";
  if (isIP(address) === 0 || forbidden.check(address, family)) return false;
  return policy.allowHttp || !loopback.check(address, family);
}

function hostAllowed(hostname: string, allowed: readonly string[]): boolean {
  return allowed.some((entry) => {
    const host = entry.toLowerCase();
    return host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host;
  });
}

/** The host of a URL without the brackets of IPv6 and without the root's dot, lower case. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

/** Why a base address is refused before any look-up; `undefined` when it is not. */
export function refusalOf(url: URL, policy: HostPolicy): RefusedCode | undefined {
  if (url.protocol !== "https:" && url.protocol !== "http:") return "url";
  if (url.username || url.password || url.search || url.hash) return "url";
  if (url.protocol === "http:" && !policy.allowHttp) return "insecure";
  const host = hostOf(url);
  if (policy.allowedHosts && !hostAllowed(host, policy.allowedHosts)) return "host";
  return isIP(host) !== 0 && !addressAllowed(host, policy) ? "address" : undefined;
}

/** What `policyLookup` fails with when a name leads to a forbidden address. */
export class AddressRefused extends Error {
  readonly code = "VAULT_ADDRESS_REFUSED";
}

export type LookupAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * A look-up for `net.connect`, so that the addresses judged are the ones connected to (a name may answer differently the second
 * time). One forbidden address among the answers refuses the name.
 */
export function policyLookup(policy: HostPolicy, lookup: LookupAll = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, "", 0);
      if (!addresses.every(({ address }) => addressAllowed(address, policy))) return callback(new AddressRefused(), "", 0);
      const [first] = addresses;
      if (options.all) return callback(null, addresses);
      return callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}
