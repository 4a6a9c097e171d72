import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";

const MAX_AGE_MS = 500;
const ESTABLISHED = "01";

let read: Promise<ReadonlySet<string>> = Promise.resolve(new Set());
let readAt = -Infinity;

const hex = (number: number, length: number): string =>
  number.toString(16).toUpperCase().padStart(length, "0");

/** Returns both ends of the established connections, as Linux writes them. */
async function readConnections(): Promise<ReadonlySet<string>> {
  const rows = (await readFile("/proc/net/tcp", "utf8"))
    .split("\n")
    .map((line) => line.trim().split(/\s+/u));
  return new Set(
    rows.flatMap(([, local = "", remote = "", state]) =>
      state === ESTABLISHED ? [`${local.slice(-4)} ${remote}`] : [],
    ),
  );
}

/**
 * Reports whether the server still has the other end of a client's connection over IPv4. The client
 * does not notice the end of a connection that it does not read, because what the server has sent
 * comes first.
 */
export async function isOpenAtServer({
  localAddress = "",
  localPort = 0,
  remotePort = 0,
}: Socket): Promise<boolean> {
  if (performance.now() - readAt > MAX_AGE_MS) {
    readAt = performance.now();
    read = readConnections();
  }
  const address = localAddress.split(".").map(Number).toReversed();
  return (await read).has(
    `${hex(remotePort, 4)} ${address.map((byte) => hex(byte, 2)).join("")}:${hex(localPort, 4)}`,
  );
}
