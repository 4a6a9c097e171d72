import { Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Round } from "./attack-case.ts";
import type { Shot } from "./attacks.ts";

const DEAF_REQUESTS = 50;
/** Time for one request; the server closes connections earlier. */
const SHOT_MS = 5_000;
/** Time after a connection that the server has closed or refused. */
const RECONNECT_MS = 50;

/** Sends a request, reads the response and resolves with its outcome. */
export function fire(
  url: string,
  shot: Shot,
  agent: Agent,
  signal: AbortSignal,
): Promise<{ readonly outcome: string; readonly headers: IncomingHttpHeaders }> {
  const body = Buffer.from(shot.body);
  const { method = "POST" } = shot;
  const headers = {
    ...(method === "POST" && { "content-type": "application/json", "content-length": body.length }),
    ...shot.headers,
  };
  return new Promise((resolve) => {
    const request = httpRequest(url + shot.path, { method, headers, agent, signal }, (response) => {
      response
        .resume()
        .once("close", () =>
          resolve({ outcome: String(response.statusCode), headers: response.headers }),
        );
    });
    request.on("error", () => resolve({ outcome: "closed", headers: {} }));
    if (shot.withhold === undefined) request.end(body);
    else request.write(body.subarray(0, shot.withhold));
  });
}

/** Sends a request many times on one connection, without reading, until the server closes it. */
async function flood(
  url: string,
  { path, body }: Shot,
  address: string,
  signal: AbortSignal,
): Promise<string> {
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname, localAddress: address }).pause();
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  const abort = (): void => void socket.destroy();
  signal.addEventListener("abort", abort);
  socket.on("error", () => undefined);
  const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  for (let sent = 0; sent < DEAF_REQUESTS; sent += 1) socket.write(head + body.toString());
  await closed;
  signal.removeEventListener("abort", abort);
  return "unread";
}

/** Sends requests in turn, on one connection from an address, until the end of the round. */
export async function shotLoop(
  url: string,
  shots: readonly (() => Shot)[],
  address: string,
  round: Round,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, localAddress: address });
  for (let index = 0; !round.signal.aborted; index += 1) {
    const shot = shots[index % shots.length]!();
    const timeout = AbortSignal.any([round.signal, AbortSignal.timeout(SHOT_MS)]);
    const outcome = shot.deaf
      ? await flood(url, shot, address, timeout)
      : (await fire(url, shot, agent, timeout)).outcome;
    if (!round.signal.aborted) round.count(outcome);
    if (outcome === "closed") await sleep(RECONNECT_MS);
  }
  agent.destroy();
}
