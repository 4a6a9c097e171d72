import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { operationPath, type Operation } from "../../../src/protocol/operation-paths.ts";
import type { VaultClient } from "../../../test/lab/vault/vault-client.ts";
import type { Round } from "./attack-case.ts";
import { isOpenAtServer } from "./server-connections.ts";

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
