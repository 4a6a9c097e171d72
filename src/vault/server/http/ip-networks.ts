import { BlockList, isIP, isIPv6 } from "node:net";

/** An IP address and the number of its bits that identify a network. */
interface IpNetwork {
  readonly address: string;
  readonly prefix: number;
}

/**
 * Parses an address, as a network of one, or a network in CIDR notation. Returns `undefined` for
 * anything else, and for /0.
 */
export function parseIpNetwork(text: string): IpNetwork | undefined {
  const [address = "", digits, more] = text.split("/");
  const bits = isIP(address) === 4 ? 32 : 128;
  const prefix = digits === undefined ? bits : Number(digits);
  const fits = /^[0-9]{1,3}$/u.test(digits ?? "0") && prefix >= 1 && prefix <= bits;
  return isIP(address) !== 0 && fits && more === undefined ? { address, prefix } : undefined;
}

/**
 * Returns addresses and networks as a list to check addresses against. @throws TypeError when one
 * is invalid
 */
export function networkList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of networks) {
    const network = parseIpNetwork(text);
    if (!network) throw new TypeError(`${text}: expected an address or a network`);
    list.addSubnet(network.address, network.prefix, isIPv6(network.address) ? "ipv6" : "ipv4");
  }
  return list;
}
