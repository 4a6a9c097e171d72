import { type Server, type Socket, isIPv4, isIPv6, SocketAddress } from "node:net";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { isProxy, peerOf } from "./connection-limits.ts";
import { networkList } from "./ip-networks.ts";

/** Address of the client that a proxy names. */
interface ClientAddress {
  readonly address: string;
  readonly family: "IPv4" | "IPv6";
  readonly port: number;
}

interface ProxyHeader {
  /** Size of the header in bytes. */
  readonly length: number;
  /** `undefined` when the proxy names none: the connection is its own, such as a health check. */
  readonly client: ClientAddress | undefined;
}

/** The bytes are no PROXY header. */
export class InvalidProxyHeaderError extends Error {
  override readonly name = "InvalidProxyHeaderError";
}

/** Maximum length of a header of version 1, with its line break, in bytes. */
const MAX_TEXT_BYTES = 107;
/** Maximum length of a header of version 2 with its extensions (skipped), in bytes. */
const MAX_BINARY_BYTES = 1024;
const TEXT_START = Buffer.from("PROXY ");
const SIGNATURE = Buffer.from("\r\n\r\n\0\r\nQUIT\n");
const FIXED_BYTES = SIGNATURE.length + 4;
const PORT = "(0|[1-9][0-9]{0,4})";
const TEXT = new RegExp(
  `^PROXY (TCP4|TCP6) ([0-9a-fA-F.:]+) ([0-9a-fA-F.:]+) ${PORT} ${PORT}$`,
  "u",
);
/** The addresses of an unknown protocol are ignored. */
const UNKNOWN = /^PROXY UNKNOWN(?: [\x20-\x7E]*)?$/u;

function invalid(reason: string): InvalidProxyHeaderError {
  return new InvalidProxyHeaderError(`no PROXY header: ${reason}`);
}

/** Returns an IPv6 address in its short form. */
function shortened(address: string): string {
  return new SocketAddress({ address, family: "ipv6" }).address;
}

/** Parses the protocol, the two addresses and the two ports of a line. */
function textFields(line: string): { isV4: boolean; address: string; port: number } {
  const [, protocol, source = "", destination = "", ...ports] = TEXT.exec(line) ?? [];
  const isV4 = protocol === "TCP4";
  const isAddress = isV4 ? isIPv4 : isIPv6;
  if (!isAddress(source) || !isAddress(destination))
    throw invalid("expected addresses of TCP4 or TCP6");
  const [port = 0, other = 0] = ports.map(Number);
  if (port > 65_535 || other > 65_535) throw invalid("expected ports of at most 65535");
  return { isV4, address: source, port };
}

function textClient(line: string): ClientAddress | undefined {
  if (UNKNOWN.test(line)) return undefined;
  const { isV4, address, port } = textFields(line);
  return isV4
    ? { address, family: "IPv4", port }
    : { address: shortened(address), family: "IPv6", port };
}

function parseText(bytes: Buffer): ProxyHeader | undefined {
  const end = bytes.indexOf("\r\n");
  if (end >= 0 && end <= MAX_TEXT_BYTES - 2)
    return { length: end + 2, client: textClient(bytes.toString("latin1", 0, end)) };
  if (bytes.length >= MAX_TEXT_BYTES)
    throw invalid(`expected a line of at most ${MAX_TEXT_BYTES} bytes`);
  return undefined;
}

/** Returns the source address of a block of addresses: source, destination, and their ports. */
function blockClient(family: number, block: Buffer): ClientAddress | undefined {
  const size = { 0x00: 0, 0x11: 4, 0x21: 16 }[family];
  if (size === undefined) throw invalid("expected TCP over IPv4 or IPv6");
  if (size === 0) return undefined;
  if (block.length < 2 * size + 4) throw invalid("expected two addresses and two ports");
  const port = block.readUInt16BE(2 * size);
  if (size === 4) return { address: block.subarray(0, 4).join("."), family: "IPv4", port };
  const groups = Array.from({ length: 8 }, (_, index) =>
    block.readUInt16BE(2 * index).toString(16),
  );
  return { address: shortened(groups.join(":")), family: "IPv6", port };
}

function parseBinary(bytes: Buffer): ProxyHeader | undefined {
  if (bytes.length < FIXED_BYTES) return undefined;
  const [command, family = 0] = bytes.subarray(SIGNATURE.length);
  if (command !== 0x20 && command !== 0x21)
    throw invalid("expected version 2 and the command LOCAL or PROXY");
  const length = FIXED_BYTES + bytes.readUInt16BE(FIXED_BYTES - 2);
  if (length > MAX_BINARY_BYTES) throw invalid(`expected at most ${MAX_BINARY_BYTES} bytes`);
  if (bytes.length < length) return undefined;
  return {
    length,
    client: command === 0x20 ? undefined : blockClient(family, bytes.subarray(FIXED_BYTES, length)),
  };
}

function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.subarray(0, length).equals(start.subarray(0, length));
}

/**
 * Parses the header of the PROXY protocol at the beginning of a connection
 * (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt), version 1 or 2. Returns
 * `undefined` while more bytes are needed.
 * @throws InvalidProxyHeaderError
 */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | undefined {
  if (startsLike(bytes, TEXT_START)) return parseText(bytes);
  if (startsLike(bytes, SIGNATURE)) return parseBinary(bytes);
  throw invalid("expected version 1 or 2");
}

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
