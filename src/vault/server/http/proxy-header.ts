import { isIPv4, isIPv6, SocketAddress } from "node:net";

/** Address of the client that a proxy names. */
export interface ClientAddress {
  readonly address: string;
  readonly family: "IPv4" | "IPv6";
  readonly port: number;
}

export interface ProxyHeader {
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
