import type { Server } from "node:net";
import { BlockList } from "node:net";
import { clientNetwork } from "../../lib/client-network.ts";

interface ConnectionLimits {
  readonly connections: number;
  readonly connectionsPerNetwork: number;
}

/** Limits the connections of a server, in total and per network; trusted proxies, which carry many clients, in total only. */
export function limitConnections(server: Server, limits: ConnectionLimits, trustedProxies: readonly string[]): void {
  server.maxConnections = limits.connections;
  const proxies = new BlockList();
  for (const entry of trustedProxies) {
    const [address = "", bits] = entry.split("/");
    const family = address.includes(":") ? "ipv6" : "ipv4";
    proxies.addSubnet(address, Number(bits ?? (family === "ipv6" ? 128 : 32)), family);
  }
  const open = new Map<string, number>();
  server.on("connection", (socket) => {
    const { remoteAddress = "", remoteFamily } = socket;
    if (remoteAddress === "" || proxies.check(remoteAddress, remoteFamily === "IPv6" ? "ipv6" : "ipv4")) return;
    const network = clientNetwork(remoteAddress);
    const own = open.get(network) ?? 0;
    if (own >= limits.connectionsPerNetwork) return void socket.destroy();
    open.set(network, own + 1);
    socket.once("close", () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
  });
}
