import { buffer } from "node:stream/consumers";
import type { Fault, ProxiedRequest } from "../../lab/real/fault-proxy.ts";

/** Requests of the operator to the API server, by kind. */
type Selector = (request: ProxiedRequest) => boolean;

const query = ({ path }: ProxiedRequest): URLSearchParams =>
  new URL(path, "https://api").searchParams;
const collectionOf = ({ path }: ProxiedRequest): string =>
  path.split("?")[0]?.split("/").at(-1) ?? "";

export const watches =
  (resource: string): Selector =>
  (request) =>
    collectionOf(request) === resource && query(request).has("watch");

/** Selects lists, including streamed lists at the start of a watch. */
export const lists =
  (resource: string): Selector =>
  (request) =>
    request.method === "GET" &&
    collectionOf(request) === resource &&
    (!query(request).has("watch") || query(request).has("sendInitialEvents"));

/** Writes of one object, or of its status: creations too. */
export function writes(resource: string, name: string): Selector {
  const object = new RegExp(`/${resource}/${name}([?/]|$)`);
  return ({ method, path, body }) =>
    method === "POST"
      ? collectionOf({ path } as ProxiedRequest) === resource && nameIn(body) === name
      : method !== "GET" && object.test(path);
}

function nameIn(body: Buffer): string | undefined {
  return (JSON.parse(body.toString()) as { metadata?: { name?: string } }).metadata?.name;
}

/** Applies the fault to the selected requests and relays all others. */
export function onRequests(selector: Selector, fault: Fault): Fault {
  return (exchange) => (selector(exchange.request) ? fault(exchange) : exchange.relay());
}

/** Applies the fault to the first `count` of the selected requests. */
export function onFirst(count: number, selector: Selector, fault: Fault): Fault {
  let left = count;
  return onRequests(selector, (exchange) => (left-- > 0 ? fault(exchange) : exchange.relay()));
}

/** Responds with a Status, as the API server does. */
export function status(
  code: number,
  reason: string,
  message: string,
  headers: Record<string, string> = {},
): Fault {
  const body = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    code,
  };
  return ({ response }) =>
    response
      .writeHead(code, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
}

/** Executes the request at the API server, and responds with another result. */
export function applied(fault: Fault): Fault {
  return async (exchange) => {
    await buffer(await exchange.forward());
    await fault(exchange);
  };
}

/** Replaces each line of a watch by other lines. */
export function lines(change: (line: string) => readonly string[]): Fault {
  return async ({ forward, response }) => {
    const upstream = await forward();
    const { "content-length": _, ...headers } = upstream.headers;
    response.writeHead(upstream.statusCode ?? 0, headers);
    response.flushHeaders();
    let text = "";
    for await (const chunk of upstream.setEncoding("utf8")) {
      const whole = (text + chunk).split("\n");
      text = whole.pop() ?? "";
      for (const line of whole) for (const each of change(line)) response.write(`${each}\n`);
    }
    response.end();
  };
}
