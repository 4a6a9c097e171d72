import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import {
  json,
  LoopbackApiServer,
  failureStatus,
  type RequestHandler,
} from "../../../../test/support/kube/loopback-api-server.ts";
import { pump } from "../../../../test/support/clock/pump.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { systemClock } from "../../../lib/clock.ts";
import { KubeClient, type KubeClientOptions } from "./kube-client.ts";
import { Credentials } from "../credentials/credentials.ts";
import { KubeError, type KubeErrorKind } from "../kube-error.ts";
import type { WatchEvent } from "./kube-api.ts";
import { ALL_NAMESPACES, SECRETS, type KubeObject } from "../resource.ts";

const CANARY = "canary-c61e09b7f4d25a83";
const forever = new AbortController().signal;
const ref = { namespace: "a", name: "s" };
const secret: KubeObject = { apiVersion: "v1", kind: "Secret", metadata: { ...ref, uid: "u1", resourceVersion: "7" } };

interface Pair extends AsyncDisposable {
  readonly server: LoopbackApiServer;
  readonly client: KubeClient;
}

async function connect(handler: RequestHandler, options: Partial<KubeClientOptions> = {}): Promise<Pair> {
  const server = await LoopbackApiServer.start(handler);
  const clock = options.clock ?? systemClock;
  const client = new KubeClient({
    credentials: new Credentials(server.source(), clock),
    clock,
    fieldManager: "vaultsync",
    ...options,
  });
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function failure(promise: Promise<unknown>): Promise<KubeError> {
  const error: unknown = await promise.then(
    () => new Error("it succeeded"),
    (caught: unknown) => caught,
  );
  if (!(error instanceof KubeError)) throw error;
  return error;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test("a read returns the object with its kind, also for a metadata-only response", async () => {
  await using pair = await connect((_, response) =>
    json(response, 200, { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: secret.metadata }),
  );
  expect(await pair.client.getMetadata(SECRETS, ref, forever)).toEqual(secret);
  const [request] = pair.server.requests;
  expect(request?.path).toBe("/api/v1/namespaces/a/secrets/s");
  expect(request?.headers.accept).toBe("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  expect(request?.headers.authorization).toBe("Bearer token");
  expect(request?.headers["accept-encoding"]).toBe("identity");
});

test("each write is sent with the method, path and body that the API server expects", async () => {
  await using pair = await connect((_, response) => json(response, 200, secret));
  const { client, server } = pair;
  await client.create(SECRETS, secret, forever);
  await client.replace(SECRETS, secret, forever);
  await client.apply(SECRETS, secret, { force: false }, forever);
  await client.replaceStatus(SECRETS, { ...ref, uid: "u1", resourceVersion: "7" }, { ready: true }, forever);
  await client.delete(SECRETS, { ...ref, uid: "u1" }, { propagationPolicy: "Background" }, forever);
  const sent = server.requests.map(
    ({ method, path, query, headers }) => `${method} ${path}?${query.toString()} ${headers["content-type"] ?? ""}`,
  );
  expect(sent).toEqual([
    "POST /api/v1/namespaces/a/secrets?fieldManager=vaultsync application/json",
    "PUT /api/v1/namespaces/a/secrets/s?fieldManager=vaultsync application/json",
    "PATCH /api/v1/namespaces/a/secrets/s?fieldManager=vaultsync&force=false application/apply-patch+yaml",
    "PUT /api/v1/namespaces/a/secrets/s/status?fieldManager=vaultsync application/json",
    "DELETE /api/v1/namespaces/a/secrets/s? application/json",
  ]);
  expect(JSON.parse(server.requests[3]?.body ?? "")).toEqual({ ...secret, status: { ready: true } });
  expect(JSON.parse(server.requests[4]?.body ?? "")).toMatchObject({
    preconditions: { uid: "u1" },
    propagationPolicy: "Background",
  });
});

test("replace without a resourceVersion sends nothing", async () => {
  await using pair = await connect((_, response) => json(response, 200, secret));
  const blind = { ...secret, metadata: ref };
  expect(() => pair.client.replace(SECRETS, blind, forever)).toThrow(RangeError);
  expect(pair.server.requests).toHaveLength(0);
});

test("list requests one page after the other", async () => {
  await using pair = await connect(({ query }, response) => {
    const page = query.get("continue") ?? "1";
    const next = page === "3" ? {} : { continue: String(Number(page) + 1) };
    json(response, 200, {
      kind: "SecretList",
      metadata: { resourceVersion: "40", ...next },
      items: [{ metadata: { ...ref, name: page } }],
    });
  });
  const pages = await collect(pair.client.list(SECRETS, { namespace: ALL_NAMESPACES, labelSelector: "x=y" }, forever));
  expect(
    pages.map(({ items, resourceVersion }) => [
      resourceVersion,
      ...items.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ]),
  ).toEqual([
    ["40", "Secret 1"],
    ["40", "Secret 2"],
    ["40", "Secret 3"],
  ]);
  expect(pair.server.requests.map(({ query }) => [query.get("limit"), query.get("labelSelector")])).toEqual([
    ["500", "x=y"],
    ["500", "x=y"],
    ["500", "x=y"],
  ]);
});

test("watch yields the events and ends when the server ends it", async () => {
  await using pair = await connect((_, response) => {
    response.write(`${JSON.stringify({ type: "ADDED", object: { metadata: secret.metadata } })}\n`);
    response.end(`${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } })}\n`);
  });
  const options = { namespace: "a", resourceVersion: "5", timeoutSeconds: 300, metadataOnly: true };
  expect(await collect(pair.client.watch(SECRETS, options, forever))).toEqual<WatchEvent[]>([
    { type: "added", object: secret },
    { type: "bookmark", resourceVersion: "9" },
  ]);
  expect(Object.fromEntries(pair.server.requests[0]?.query ?? [])).toEqual({
    watch: "true",
    allowWatchBookmarks: "true",
    resourceVersion: "5",
    timeoutSeconds: "300",
  });
});

const watching = { namespace: "a", resourceVersion: "5", timeoutSeconds: 300 };

test.each<[string, RequestHandler, KubeErrorKind]>([
  ["a 410", (_, response) => json(response, 410, failureStatus(410, "Expired")), "Gone"],
  [
    "an ERROR in the stream",
    (_, response) => void response.end(`${JSON.stringify({ type: "ERROR", object: failureStatus(410, "Expired") })}\n`),
    "Gone",
  ],
  ["a 429", (_, response) => json(response, 429, failureStatus(429, "TooManyRequests")), "TooManyRequests"],
  ["a truncated line", (_, response) => void response.end('{"type":"ADDED","obj'), "Unavailable"],
  ["a malformed line", (_, response) => void response.end("<html>\n"), "Unexpected"],
  ["an event without an object", (_, response) => void response.end('{"type":"ADDED"}\n'), "Unexpected"],
  ["an event of no known type", (_, response) => void response.end('{"type":"SHOUTED","object":{}}\n'), "Unexpected"],
  [
    "a reset in the middle",
    (_, response, socket) => {
      response.write('{"type":');
      setImmediate(() => socket.resetAndDestroy());
    },
    "Unavailable",
  ],
])("watch throws after %s", async (_, handler, kind) => {
  await using pair = await connect(handler);
  const error = await failure(collect(pair.client.watch(SECRETS, watching, forever)));
  expect(error.kind).toBe(kind);
});

test("breaking out of a watch closes its connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using pair = await connect((_, response) => {
    response.on("close", () => closed.resolve());
    response.write(`${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } })}\n`);
  });
  for await (const event of pair.client.watch(SECRETS, watching, forever)) {
    expect(event.type).toBe("bookmark");
    break;
  }
  await closed.promise;
});

test("an aborted watch rejects with the signal's reason", async () => {
  const stop = new AbortController();
  await using pair = await connect((_, response) => {
    response.flushHeaders();
    setImmediate(() => stop.abort(new Error("shutdown")));
  });
  await expect(collect(pair.client.watch(SECRETS, watching, stop.signal))).rejects.toThrow("shutdown");
});

test("429 and 503 are retried after the Retry-After of the server", async () => {
  const clock = new VirtualClock();
  const attempts: number[] = [];
  await using pair = await connect(
    (_, response) => {
      attempts.push(clock.monotonic());
      if (attempts.length === 1) json(response, 429, failureStatus(429, "TooManyRequests"), { "retry-after": "2" });
      else if (attempts.length === 2) json(response, 503, failureStatus(503, "ServiceUnavailable"), { "retry-after": "1" });
      else json(response, 200, secret);
    },
    { clock },
  );
  expect(await pump(clock, pair.client.replace(SECRETS, secret, forever))).toEqual(secret);
  expect(attempts[1]! - attempts[0]!).toBeGreaterThanOrEqual(2_000);
  expect(attempts[2]! - attempts[1]!).toBeGreaterThanOrEqual(1_000);
});

test("a request fails with retryAfterMs when every retry is throttled", async () => {
  const clock = new VirtualClock();
  await using pair = await connect(
    (_, response) => json(response, 429, failureStatus(429, "TooManyRequests"), { "retry-after": "1" }),
    { clock },
  );
  const error = await failure(pump(clock, pair.client.get(SECRETS, ref, forever)));
  expect(error).toMatchObject({ kind: "TooManyRequests", retryAfterMs: 1_000, transient: true });
  expect(pair.server.requests).toHaveLength(4);
});

test("a long Retry-After and a create after 503 are not retried by the client", async () => {
  await using pair = await connect(({ method }, response) =>
    json(response, 503, {}, { "retry-after": method === "GET" ? "60" : "1" }),
  );
  expect(await failure(pair.client.get(SECRETS, ref, forever))).toMatchObject({ kind: "Unavailable", retryAfterMs: 60_000 });
  expect(await failure(pair.client.create(SECRETS, secret, forever))).toMatchObject({ kind: "Unavailable", retryAfterMs: 1_000 });
  expect(pair.server.requests).toHaveLength(2);
});

test("after a 401 the credentials are loaded again and the request is retried once", async () => {
  const loads: boolean[] = [];
  await using server = await LoopbackApiServer.start(({ headers }, response) =>
    headers.authorization === "Bearer new"
      ? json(response, 200, secret)
      : json(response, 401, failureStatus(401, "Unauthorized", {}, "x".repeat(1024 * 1024))),
  );
  const source = server.source((fresh) => {
    loads.push(fresh);
    return loads.length === 1 ? "old" : "new";
  });
  // The one connection has to be free again for the retry.
  await using client = new KubeClient({
    credentials: new Credentials(source, systemClock),
    clock: systemClock,
    connections: 1,
    fieldManager: "vaultsync",
  });
  expect(await client.get(SECRETS, ref, forever)).toEqual(secret);
  expect(await client.get(SECRETS, ref, forever)).toEqual(secret);
  expect(loads).toEqual([false, true]);
  expect(server.requests).toHaveLength(3);
});

test("credentials that are rejected twice are an Unauthorized error", async () => {
  await using pair = await connect((_, response) => json(response, 401, failureStatus(401, "Unauthorized")));
  expect((await failure(pair.client.get(SECRETS, ref, forever))).kind).toBe("Unauthorized");
  expect(pair.server.requests).toHaveLength(2);
});

test("an error while loading credentials does not contain its cause", async () => {
  await using server = await LoopbackApiServer.start(() => undefined);
  const source = server.source(() => {
    throw new Error(`plugin said ${CANARY}`);
  });
  await using client = new KubeClient({
    credentials: new Credentials(source, systemClock),
    clock: systemClock,
    fieldManager: "vaultsync",
  });
  const error = await failure(client.get(SECRETS, ref, forever));
  expect(error.kind).toBe("Unauthorized");
  expect(inspect(error)).not.toContain(CANARY);
});

test("a server that accepts and never responds is a Timeout", async () => {
  const clock = new VirtualClock();
  await using pair = await connect(() => undefined, { clock, timeoutMs: 10_000 });
  const error = await failure(pump(clock, pair.client.get(SECRETS, ref, forever)));
  expect(error.kind).toBe("Timeout");
  expect(clock.pending).toBe(0);
});

test.each<[string, RequestHandler, KubeErrorKind]>([
  ["a reset", (_, __, socket) => void socket.resetAndDestroy(), "Unavailable"],
  [
    "a truncated body",
    (_, response, socket) => {
      response.writeHead(200, { "content-length": "100" }).write("{");
      setImmediate(() => socket.destroy());
    },
    "Unavailable",
  ],
  ["an HTML page", (_, response) => void response.end("<html>"), "Unexpected"],
  ["null", (_, response) => json(response, 200, null), "Unexpected"],
  ["an object without metadata", (_, response) => json(response, 200, { kind: "Secret" }), "Unexpected"],
  ["a redirect", (_, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(), "Unexpected"],
  ["a proxy's 404", (_, response) => void response.writeHead(404).end("404 page not found"), "Unexpected"],
])("a read throws after %s and never returns an object", async (_, handler, kind) => {
  await using pair = await connect(handler);
  expect((await failure(pair.client.get(SECRETS, ref, forever))).kind).toBe(kind);
});

test("a refused connection is Unavailable", async () => {
  const server = await LoopbackApiServer.start(() => undefined);
  await using client = new KubeClient({
    credentials: new Credentials(server.source(), systemClock),
    clock: systemClock,
    fieldManager: "vaultsync",
  });
  await server[Symbol.asyncDispose]();
  expect(await failure(client.get(SECRETS, ref, forever))).toMatchObject({ kind: "Unavailable", reason: "ECONNREFUSED" });
});

test("the error of a rejected write contains neither its value nor the server's message", async () => {
  await using pair = await connect(({ body }, response) =>
    json(response, 422, failureStatus(422, "Invalid", { causes: [{ field: "data", message: body }] }, body)),
  );
  const error = await failure(pair.client.create(SECRETS, { ...secret, data: { key: CANARY } }, forever));
  expect(error.kind).toBe("Invalid");
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(CANARY);
});

test("a signal that is already aborted prevents the request", async () => {
  await using pair = await connect((_, response) => json(response, 200, secret));
  const reason = new Error("over");
  await expect(pair.client.get(SECRETS, ref, AbortSignal.abort(reason))).rejects.toBe(reason);
  await expect(pair.client.create(SECRETS, secret, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(pair.server.requests).toHaveLength(0);
});

test("a client that may not write sends no write and still reads", async () => {
  await using pair = await connect((_, response) => json(response, 200, secret), { mayWrite: () => false });
  const { client } = pair;
  for (const write of [
    client.create(SECRETS, secret, forever),
    client.replace(SECRETS, secret, forever),
    client.apply(SECRETS, secret, { force: true }, forever),
    client.replaceStatus(SECRETS, ref, {}, forever),
    client.delete(SECRETS, ref, {}, forever),
  ]) {
    expect((await failure(write)).kind).toBe("NotLeader");
  }
  expect(pair.server.requests).toHaveLength(0);
  expect(await client.get(SECRETS, ref, forever)).toEqual(secret);
});

test("requests share a few connections, and each watch has its own", async () => {
  await using pair = await connect(
    ({ query }, response) => {
      if (query.has("watch")) response.flushHeaders();
      else setImmediate(() => json(response, 200, secret));
    },
    { connections: 2 },
  );
  const stop = new AbortController();
  const watches = [1, 2, 3].map(() => collect(pair.client.watch(SECRETS, watching, stop.signal)).catch(() => undefined));
  await Promise.all(Array.from({ length: 100 }, () => pair.client.get(SECRETS, ref, forever)));
  expect(pair.server.connections).toBe(5);
  stop.abort();
  await Promise.all(watches);
});

test("at most sixteen writes are in flight", async () => {
  const held: ServerResponse[] = [];
  let most = 0;
  await using pair = await connect(
    (_, response) => {
      most = Math.max(most, held.push(response));
      if (held.length < 16) return;
      // A seventeenth write would have arrived by now.
      setTimeout(() => held.splice(0).forEach((each) => json(each, 200, secret)), 20);
    },
    { connections: 100 },
  );
  await Promise.all(Array.from({ length: 48 }, () => pair.client.create(SECRETS, secret, forever)));
  expect(most).toBe(16);
});

test("a request aborted while it waits for a retry rejects with the signal's reason", async () => {
  const stop = new AbortController();
  const reason = new Error("shutdown");
  await using pair = await connect((_, response) => {
    json(response, 429, failureStatus(429, "TooManyRequests"), { "retry-after": "5" });
    setTimeout(() => stop.abort(reason), 30);
  });
  await expect(pair.client.get(SECRETS, ref, stop.signal)).rejects.toBe(reason);
});
