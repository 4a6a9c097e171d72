import { isIPv4 } from "node:net";

/** Returns the eight groups of an IPv6 address. */
function groupsOf(address: string): string[] {
  const [head = "", tail] = (address.split("%", 1)[0] ?? "").split("::");
  const before = head.split(":").filter((group) => group !== "");
  const after = (tail ?? "").split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array.from({ length: missing }, () => "0"), ...after];
}

/**
 * Returns the network that an IP address is counted as: an IPv4 address itself, also when mapped into IPv6, and the /64 of an IPv6
 * address, which is what one customer of a provider has at least. Some proxies forward the port as well, which does not count.
 */
export function clientNetwork(address: string): string {
  const host = /^\[(.*)\](?::[0-9]+)?$/u.exec(address)?.[1] ?? /^([0-9.]+):[0-9]+$/u.exec(address)?.[1] ?? address;
  const mapped = /^::ffff:([0-9.]+)$/iu.exec(host)?.[1] ?? host;
  if (isIPv4(mapped)) return mapped;
  const groups = groupsOf(host.toLowerCase()).slice(0, 4);
  return `${groups.map((group) => group.replace(/^0+(?=.)/u, "")).join(":")}::/64`;
}
