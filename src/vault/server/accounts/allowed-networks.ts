import { isIP, isIPv4 } from "node:net";
import { clientNetwork, withoutPort } from "../http/client-network.ts";
import { errors } from "../errors.ts";
import { networkList, parseIpNetwork } from "../http/ip-networks.ts";

/**
 * Returns a network with its prefix; an address alone gets its full length. @throws ServiceError
 * `invalid_request`
 */
function parseNetwork(text: string, index: number): string {
  const network = text.includes("%") ? undefined : parseIpNetwork(text);
  if (network) return `${network.address.toLowerCase()}/${network.prefix}`;
  throw errors.invalidRequest(
    "allowed_networks",
    `entry ${index + 1}: expected an address or a network such as 10.0.0.0/8 or fd00::/8; /0 is not allowed`,
  );
}

/**
 * Returns the networks of a new token, each with its prefix. @throws ServiceError `invalid_request`
 */
export function parseNetworks(texts: readonly string[] = []): string[] {
  return [...new Set(texts.map(parseNetwork))];
}

/**
 * Returns the address of a client without brackets, zone and port, and the IPv4 address that an
 * IPv6 address contains.
 */
function plainAddress(client: string): string {
  const known = clientNetwork(client);
  return isIPv4(known) ? known : withoutPort(client).split("%", 1).join("");
}

/**
 * Reports whether a client may use a token that is limited to these networks; none is no limit. An
 * unknown address may not.
 */
export function isWithinNetworks(networks: readonly string[], client: string): boolean {
  if (networks.length === 0) return true;
  const address = plainAddress(client);
  return (
    isIP(address) !== 0 && networkList(networks).check(address, isIPv4(address) ? "ipv4" : "ipv6")
  );
}
