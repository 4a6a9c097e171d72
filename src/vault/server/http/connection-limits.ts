import type { BlockList, Server, Socket } from "node:net";
import { clientNetwork } from "./client-network.ts";
import { networkList } from "./ip-networks.ts";

interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerNetwork: number;
  /**
   * Maximum number of connections without valid credentials of a network that keeps sending
   * rejected requests.
   */
  readonly unauthenticatedConnections: number;
}

/** Event of a connection that has sent valid credentials. */
export const IDENTIFIED = "identified";

/** Open connections of one network. */
interface Network {
  open: number;
  /** Those that have not sent valid credentials, the oldest first. */
  readonly unauthenticated: Set<Socket>;
}

/** Reports whether the peer of a connection is in a list. */
export function isProxy(proxies: BlockList, { remoteAddress = "", remoteFamily }: Socket): boolean {
  return proxies.check(remoteAddress, remoteFamily === "IPv6" ? "ipv6" : "ipv4");
}

/**
 * Returns the address and port of the peer: a TLS connection has another socket than its TCP
 * connection, with the same peer.
 */
export function peerOf({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * Limits the connections of a server, in total and per network; trusted proxies carry many clients
 * and are limited in total only. While a network keeps sending rejected requests, the oldest of too
 * many connections without valid credentials is closed for a new one: that may belong to another
 * client behind the same address.
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  {
    trustedProxies,
    isThrottled,
  }: {
    readonly trustedProxies: readonly string[];
    readonly isThrottled: (network: string) => boolean;
  },
): void {
  server.maxConnections = limits.connections;
  const proxies = networkList(trustedProxies);
  const networks = new Map<string, Network>();
  /** Connections by their peer. */
  const connections = new Map<string, Socket>();
  server.on("connection", (socket) => {
    const { remoteAddress = "" } = socket;
    if (remoteAddress === "" || isProxy(proxies, socket)) return;
    const address = clientNetwork(remoteAddress);
    const network = networks.get(address) ?? { open: 0, unauthenticated: new Set<Socket>() };
    if (network.open >= limits.connectionsPerNetwork) return void socket.destroy();
    if (network.unauthenticated.size >= limits.unauthenticatedConnections && isThrottled(address)) {
      const [oldest] = network.unauthenticated;
      oldest?.destroy();
    }
    networks.set(address, network);
    network.open += 1;
    network.unauthenticated.add(socket);
    socket.once(IDENTIFIED, () => network.unauthenticated.delete(socket));
    const peer = peerOf(socket);
    connections.set(peer, socket);
    socket.once("close", () => {
      connections.delete(peer);
      network.open -= 1;
      network.unauthenticated.delete(socket);
      if (network.open === 0) networks.delete(address);
    });
  });
  server.on("secureConnection", (secure: Socket) => {
    const socket = connections.get(peerOf(secure));
    secure.once(IDENTIFIED, () => socket?.emit(IDENTIFIED));
  });
}
