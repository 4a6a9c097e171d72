import { isIPv4 } from "node:net";

/**
 * Returns the eight groups of an IPv6 address as numbers; the last two may be written as an IPv4
 * address.
 */
function groupsOf(address: string): number[] {
  const last = address.slice(address.lastIndexOf(":") + 1);
  const dotted = isIPv4(last) ? last : "";
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split(".").map(Number);
  const hexadecimal =
    dotted === ""
      ? address
      : `${address.slice(0, -dotted.length)}${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
  const [head = "", tail] = (hexadecimal.split("%", 1)[0] ?? "").split("::");
  const before = head.split(":").filter((group) => group !== "");
  const after = (tail ?? "").split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array.from({ length: missing }, () => "0"), ...after].map((group) =>
    Number.parseInt(group, 16),
  );
}

function hex(group: number): string {
  return group.toString(16);
}

/**
 * Prefixes of the IPv6 addresses that contain an IPv4 address: mapped ones (RFC 4291), and NAT64
 * ones (RFC 6052).
 */
const IPV4_PREFIXES = ["0:0:0:0:0:ffff", "64:ff9b:0:0:0:0"];

/** Returns the IPv4 address that an IPv6 address contains, or `undefined`. */
function embeddedIPv4(groups: readonly number[]): string | undefined {
  const [high = 0, low = 0] = groups.slice(6);
  if (!IPV4_PREFIXES.includes(groups.slice(0, 6).map(hex).join(":"))) return undefined;
  return [high >> 8, high & 255, low >> 8, low & 255].join(".");
}

/** Returns an IP address without the brackets and the port that some proxies forward as well. */
export const withoutPort = (address: string): string =>
  /^\[(.*)\](?::[0-9]+)?$/u.exec(address)?.[1] ??
  /^([0-9.]+):[0-9]+$/u.exec(address)?.[1] ??
  address;

/**
 * Returns the network that an IP address is counted as: an IPv4 address itself, also when an IPv6
 * address contains it, and the /64 of another IPv6 address: one customer of a provider has at least
 * a /64. A port does not count.
 */
export function clientNetwork(address: string): string {
  const host = withoutPort(address);
  if (isIPv4(host)) return host;
  const groups = groupsOf(host);
  if (groups.some(Number.isNaN)) return "unknown";
  return embeddedIPv4(groups) ?? `${groups.slice(0, 4).map(hex).join(":")}::/64`;
}
