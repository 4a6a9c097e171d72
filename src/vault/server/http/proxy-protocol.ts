import type { Server, Socket } from "node:net";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { isProxy, peerOf } from "./connection-limits.ts";
import { networkList } from "./ip-networks.ts";
import { type ClientAddress, parseProxyHeader, type ProxyHeader } from "./proxy-header.ts";

/** Time for the header of a connection, in milliseconds. */
const HEADER_TIMEOUT_MS = 5_000;

interface ProxyProtocolOptions {
  /** Addresses and networks of the proxies that send a header. */
  readonly trustedProxies: readonly string[];
  readonly clock: Clock;
  readonly logger: Pick<Logger, "warn">;
}

/** Gives a connection the address and port of the client. */
function setClient(socket: Socket, { address, family, port }: ClientAddress): void {
  Object.defineProperties(socket, {
    remoteAddress: { value: address },
    remoteFamily: { value: family },
    remotePort: { value: port },
  });
}

/**
 * Reads the header of a connection, and nothing after it. Calls `done` once, with an error when
 * there is none in time.
 */
function readHeader(
  socket: Socket,
  clock: Clock,
  done: (result: ProxyHeader | Error) => void,
): void {
  let received = Buffer.alloc(0);
  const finish = (result: ProxyHeader | Error): void => {
    timer[Symbol.dispose]();
    socket.off("readable", read).off("end", fail).off("error", fail);
    done(result);
  };
  const fail = (): void => finish(new Error("no PROXY header: the connection has ended"));
  const timer = clock.timer(HEADER_TIMEOUT_MS, () =>
    finish(new Error("no PROXY header within 5 seconds")),
  );
  const read = (): void => {
    const chunk: unknown = socket.read();
    if (!(chunk instanceof Buffer)) return;
    received = Buffer.concat([received, chunk]);
    try {
      const header = parseProxyHeader(received);
      if (!header) return;
      if (received.length > header.length) socket.unshift(received.subarray(header.length));
      finish(header);
    } catch (error) {
      finish(error instanceof Error ? error : new Error("no PROXY header"));
    }
  };
  socket.on("readable", read).on("end", fail).on("error", fail);
}

/**
 * Gives connections of trusted proxies the address in their PROXY header, for everything that
 * listens to the server's connections already. Closes those without a valid header, and reports the
 * first. Other peers send none: a header would be theirs.
 */
export function acceptProxyProtocol(
  server: Server,
  { trustedProxies, clock, logger }: ProxyProtocolOptions,
): void {
  const proxies = networkList(trustedProxies);
  const listeners = server.listeners("connection");
  const serve = (socket: Socket): void => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  };
  /** Clients by the peer of their connection, for TLS. */
  const clients = new Map<string, ClientAddress>();
  let isReported = false;
  const close = (socket: Socket, { message: reason }: Error): void => {
    const { remoteAddress: address } = socket;
    socket.on("error", () => undefined).destroy();
    if (isReported) return;
    isReported = true;
    logger.warn(
      { address, reason },
      "closed a connection of a trusted proxy without a PROXY header: drop --proxy-protocol, or make it send one",
    );
  };
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    // Closed already: its peer is unknown.
    if (socket.remoteAddress === undefined) return void socket.destroy();
    if (!isProxy(proxies, socket)) return serve(socket);
    const peer = peerOf(socket);
    readHeader(socket, clock, (header) => {
      if (header instanceof Error) return close(socket, header);
      const { client } = header;
      clients.delete(peer);
      if (client) {
        clients.set(peer, client);
        socket.once("close", () => clients.delete(peer));
        setClient(socket, client);
      }
      serve(socket);
    });
  });
  server.prependListener("secureConnection", (socket: Socket) => {
    const client = clients.get(peerOf(socket));
    if (client) setClient(socket, client);
  });
}
