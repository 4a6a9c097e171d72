import { BlockList, isIP, isIPv4 } from "node:net";
import { clientNetwork } from "../../lib/client-network.ts";
import { errors } from "../errors.ts";

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv4(address) ? "ipv4" : "ipv6";
}

/** Returns a network with its prefix, that of an address is the whole of it. @throws ServiceError `invalid_request` */
function parseNetwork(text: string, index: number): string {
  const [address = "", digits, more] = text.split("/");
  const bits = isIP(address) === 4 ? 32 : 128;
  const prefix = digits === undefined ? bits : Number(digits);
  const fits = /^[0-9]{1,3}$/u.test(digits ?? "0") && prefix >= 1 && prefix <= bits;
  if (isIP(address) !== 0 && fits && more === undefined && !address.includes("%")) return `${address.toLowerCase()}/${prefix}`;
  throw errors.invalidRequest(
    "allowed_networks",
    `entry ${index + 1}: expected an address or a network such as 10.0.0.0/8 or fd00::/8; /0 is not allowed`,
  );
}

/** Returns the networks of a new token, each with its prefix. @throws ServiceError `invalid_request` */
export function parseNetworks(texts: readonly string[] = []): string[] {
  return [...new Set(texts.map(parseNetwork))];
}

/** Returns the address of a client without brackets, zone and port, and the IPv4 address that an IPv6 address contains. */
function plainAddress(client: string): string {
  const known = clientNetwork(client);
  if (isIPv4(known)) return known;
  return (/^\[(.*)\](?::[0-9]+)?$/u.exec(client)?.[1] ?? client).split("%", 1).join("");
}

/** Reports whether a client may use a token that is limited to these networks; none is no limit. An unknown address may not. */
export function isWithinNetworks(networks: readonly string[], client: string): boolean {
  if (networks.length === 0) return true;
  const allowed = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    allowed.addSubnet(address, Number(prefix), familyOf(address));
  }
  const address = plainAddress(client);
  return isIP(address) !== 0 && allowed.check(address, familyOf(address));
}
