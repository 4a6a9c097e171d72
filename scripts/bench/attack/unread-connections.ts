import { readFile } from "node:fs/promises";
import { type Socket, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { operationPath, type Operation } from "../../../src/protocol/operation-paths.ts";
import type { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import type { Round } from "./attack-case.ts";

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
async function isOpenAtServer({
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

/** Time until a rejected or closed connection is opened again. */
const AGAIN_MS = 1_000;
const POLL_MS = 500;

interface UnreadRequest {
  readonly url: string;
  readonly account: VaultClient;
  readonly operation: Operation;
  readonly body?: object;
  readonly address: string;
  /** Time after the last round in which the server has to close the connection. */
  readonly closedWithinMs: number;
}

/**
 * Sends a request on a connection and returns it with the status; the rest of the response is not
 * read.
 */
async function openUnread({
  url,
  account,
  operation,
  body,
  address,
}: UnreadRequest): Promise<[Socket, string]> {
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress: address });
  socket.on("error", () => undefined);
  const text = JSON.stringify({ email: account.email, ...body });
  socket.write(
    `POST ${operationPath[operation]} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `authorization: ${account.token}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  const status = await new Promise<string>((resolve) => {
    socket
      .once("data", (head: Buffer) => resolve(head.toString("latin1", 9, 12)))
      .once("close", () => resolve("closed"));
  });
  return [socket.pause(), status];
}

/** Waits until the server has closed a connection, for a limited time; returns whether it has. */
async function closesWithin(socket: Socket, ms: number): Promise<boolean> {
  const end = performance.now() + ms;
  while (await isOpenAtServer(socket)) {
    if (performance.now() > end) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/**
 * Keeps one unread response open until the end of the round, and after the last one until the
 * server closes it.
 */
export async function holdUnread(request: UnreadRequest, round: Round): Promise<void> {
  const { signal, isLast } = round;
  const stopped = new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  while (!signal.aborted) {
    const opening = openUnread(request);
    const opened = await Promise.race([opening, stopped]);
    if (!opened) return void opening.then(([socket]) => socket.destroy());
    const [socket, status] = opened;
    round.count(status);
    const isHeld = status === "200";
    for (let open = isHeld; open && !signal.aborted; open = await isOpenAtServer(socket))
      await Promise.race([sleep(POLL_MS), stopped]);
    if (isHeld && signal.aborted && isLast)
      round.count(
        (await closesWithin(socket, request.closedWithinMs))
          ? "closed by the deadline"
          : "still open",
      );
    socket.destroy();
    if (!signal.aborted) await Promise.race([sleep(AGAIN_MS), stopped]);
  }
}

/** Returns what is missed when unread connections stay open. */
export function missesOfUnread(outcomes: Readonly<Record<string, number>>): readonly string[] {
  const open = outcomes["still open"] ?? 0;
  return open === 0 ? [] : [`${open} unread responses stay open`];
}
