import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { operationPath, type Operation } from "../../../src/protocol/operation-paths.ts";
import type { Exchange, Fault } from "../../lab/real/fault-proxy.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** Applies the fault to these operations and relays all others. */
export function on(operations: Operation | readonly Operation[], fault: Fault): Fault {
  const paths = [operations].flat().map((operation): string => operationPath[operation]);
  return (exchange) => (paths.includes(exchange.request.path) ? fault(exchange) : exchange.relay());
}

/** Responds with a status and an HTML page, as a reverse proxy does. */
export function page(status: number, headers: Record<string, string> = {}): Fault {
  const html = "<html><head><title>Log in</title></head><body>Please log in</body></html>";
  return ({ response }) =>
    response.writeHead(status, { "content-type": "text/html", ...headers }).end(html);
}

/** Responds with exactly these bytes as JSON. */
export function body(
  bytes: string | Uint8Array,
  headers: Record<string, string> = {},
  status = 200,
): Fault {
  return ({ response }) => response.writeHead(status, { ...JSON_TYPE, ...headers }).end(bytes);
}

/** Responds with an error in the form of the vault contract. */
export function error(status: number, code: string, headers: Record<string, string> = {}): Fault {
  return body(
    JSON.stringify({ error: { code, message: `${code} of the server` } }),
    headers,
    status,
  );
}

/** Resets the connection without a response. */
export const reset: Fault = (exchange) => exchange.reset();

/** Never responds. */
export const silence: Fault = () => undefined;

/** Sends the whole response of the vault, one byte a second. */
export const drip: Fault = async ({ forward, response }) => {
  const upstream = await forward();
  const bytes = await buffer(upstream);
  response.writeHead(upstream.statusCode ?? 0, { ...JSON_TYPE, "content-length": bytes.length });
  for (const byte of bytes) {
    if (response.destroyed) return;
    response.write(Buffer.of(byte));
    await sleep(1_000);
  }
};

/** Sends headers one byte a second. */
export const slowHeaders: Fault = async ({ socket }) => {
  for (const character of "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n") {
    if (socket.destroyed) return;
    socket.write(character);
    await sleep(1_000);
  }
};

/** Announces the whole length of the vault's response and ends the connection after half of it. */
export const truncated: Fault = async ({ forward, response, socket }) => {
  const bytes = await buffer(await forward());
  response.writeHead(200, { ...JSON_TYPE, "content-length": bytes.length });
  response.write(bytes.subarray(0, bytes.length / 2), () => socket.destroySoon());
};

/**
 * Sends half of the vault's response in a chunk and resets the connection without the last chunk.
 */
export const chunkedCut: Fault = async ({ forward, response, reset: cut }) => {
  const bytes = await buffer(await forward());
  response.writeHead(200, JSON_TYPE);
  response.write(bytes.subarray(0, bytes.length / 2), () => setTimeout(cut, 50));
};

/** Sends the vault's response compressed, although no compression was accepted. */
export const compressed: Fault = async ({ forward, response }) => {
  const bytes = await buffer(await forward());
  response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip" }).end(gzipSync(bytes));
};

/** Sends 1 MB that expands to 1 GB. */
export function gzipBomb(): Fault {
  const bytes = gzipSync(Buffer.alloc(64 << 20, " "));
  return ({ response }) =>
    response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip" }).end(bytes);
}

/** Sends the vault's response compressed twice. */
export const chainedEncoding: Fault = async ({ forward, response }) => {
  const bytes = brotliCompressSync(gzipSync(await buffer(await forward())));
  response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip, br" }).end(bytes);
};

/** Sends a JSON body without end, as fast as the client reads. */
export const endless: Fault = ({ response }) => sendLong(response, {});

/** Sends 1 GiB, as announced. */
export const gibibyte: Fault = ({ response }) => sendLong(response, { "content-length": 1 << 30 });

function sendLong(response: ServerResponse, headers: OutgoingHttpHeaders): void {
  const part = Buffer.alloc(1 << 20, '{"key_name":"x"},');
  response.writeHead(200, { ...JSON_TYPE, ...headers });
  response.write('{"secrets":[');
  const parts = new Readable({ read: () => void parts.push(part) });
  response.once("close", () => parts.destroy());
  parts.pipe(response);
}

/**
 * Changes the JSON of the vault's successful responses; the requests and responses have no entity
 * tag.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- tests change any part of a response
export function changed(change: (json: any) => unknown): Fault {
  return async ({ request, forward, response }: Exchange) => {
    delete request.headers["if-none-match"];
    delete request.headers["prefer"];
    const upstream = await forward();
    const bytes = await buffer(upstream);
    if (upstream.statusCode !== 200) {
      const { etag: _, ...headers } = upstream.headers;
      response.writeHead(upstream.statusCode ?? 0, headers).end(bytes);
      return;
    }
    const json: unknown = JSON.parse(bytes.toString());
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(change(json) ?? json));
  };
}

/** Changes the bytes of the vault's successful responses, with all headers but the length. */
export function changedBytes(change: (bytes: Buffer) => Buffer): Fault {
  return async ({ forward, response }) => {
    const upstream = await forward();
    const bytes = await buffer(upstream);
    const { "content-length": _, ...headers } = upstream.headers;
    response
      .writeHead(upstream.statusCode ?? 0, headers)
      .end(upstream.statusCode === 200 ? change(bytes) : bytes);
  };
}
