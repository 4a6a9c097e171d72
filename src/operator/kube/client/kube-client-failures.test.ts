import type { ServerResponse } from "node:http";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import {
  accessTo,
  connectClient,
  kubeErrorOf,
} from "../../../../test/lab/kube/connected-client.ts";
import {
  failureStatus,
  json,
  LoopbackServer,
  type RequestHandler,
} from "../../../../test/lab/loopback-server.ts";
import { pump, VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { systemClock } from "../../../lib/clock.ts";
import { KubeClient } from "./kube-client.ts";
import { Credentials } from "../credentials/credentials.ts";
import type { KubeErrorKind } from "../kube-error.ts";
import { SECRETS, type KubeObject } from "../resource.ts";

const CANARY = "canary-c61e09b7f4d25a83";
const forever = new AbortController().signal;
const ref = { namespace: "a", name: "s" };
const secret: KubeObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...ref, uid: "u1", resourceVersion: "7" },
};

const watching = { namespace: "a", resourceVersion: "5", timeoutSeconds: 300 };

test("429 and 503 are retried after the Retry-After of the server", async () => {
  const clock = new VirtualClock();
  const attempts: number[] = [];
  const observed: string[] = [];
  await using pair = await connectClient(
    (_, response) => {
      attempts.push(clock.monotonic());
      if (attempts.length === 1)
        json(response, 429, failureStatus(429, "TooManyRequests"), { "retry-after": "2" });
      else if (attempts.length === 2)
        json(response, 503, failureStatus(503, "ServiceUnavailable"), { "retry-after": "1" });
      else json(response, 200, secret);
    },
    { clock, onRequest: (method, status) => observed.push(`${method} ${status}`) },
  );
  expect(await pump(clock, pair.client.replace(SECRETS, secret, forever))).toEqual(secret);
  expect(observed).toEqual(["PUT 429", "PUT 503", "PUT 200"]);
  expect(attempts[1]! - attempts[0]!).toBeGreaterThanOrEqual(2_000);
  expect(attempts[2]! - attempts[1]!).toBeGreaterThanOrEqual(1_000);
});

test("a request fails with retryAfterMs when every retry is throttled", async () => {
  const clock = new VirtualClock();
  await using pair = await connectClient(
    (_, response) =>
      json(response, 429, failureStatus(429, "TooManyRequests"), { "retry-after": "1" }),
    { clock },
  );
  const error = await kubeErrorOf(pump(clock, pair.client.get(SECRETS, ref, forever)));
  expect(error).toMatchObject({ kind: "TooManyRequests", retryAfterMs: 1_000, transient: true });
  expect(pair.server.requests).toHaveLength(4);
});

test("a long Retry-After and a create after 503 are not retried by the client", async () => {
  await using pair = await connectClient(({ method }, response) =>
    json(response, 503, {}, { "retry-after": method === "GET" ? "60" : "1" }),
  );
  expect(await kubeErrorOf(pair.client.get(SECRETS, ref, forever))).toMatchObject({
    kind: "Unavailable",
    retryAfterMs: 60_000,
  });
  expect(await kubeErrorOf(pair.client.create(SECRETS, secret, forever))).toMatchObject({
    kind: "Unavailable",
    retryAfterMs: 1_000,
  });
  expect(pair.server.requests).toHaveLength(2);
});

test("after a 401 the credentials are loaded again and the request is retried once", async () => {
  const loads: boolean[] = [];
  await using server = await LoopbackServer.start(({ headers }, response) =>
    headers.authorization === "Bearer new"
      ? json(response, 200, secret)
      : json(response, 401, failureStatus(401, "Unauthorized", {}, "x".repeat(1024 * 1024))),
  );
  const source = accessTo(server, (fresh) => {
    loads.push(fresh);
    return loads.length === 1 ? "old" : "new";
  });
  await using client = new KubeClient({
    credentials: new Credentials(source, systemClock),
    clock: systemClock,
    fieldManager: "vaultsync",
  });
  expect(await client.get(SECRETS, ref, forever)).toEqual(secret);
  expect(await client.get(SECRETS, ref, forever)).toEqual(secret);
  expect(loads).toEqual([false, true]);
  expect(server.requests).toHaveLength(3);
});

test("credentials that are rejected twice are an Unauthorized error", async () => {
  await using pair = await connectClient((_, response) =>
    json(response, 401, failureStatus(401, "Unauthorized")),
  );
  expect((await kubeErrorOf(pair.client.get(SECRETS, ref, forever))).kind).toBe("Unauthorized");
  expect(pair.server.requests).toHaveLength(2);
});

test("an error while loading credentials does not contain its cause", async () => {
  await using server = await LoopbackServer.start(() => undefined);
  const source = accessTo(server, () => {
    throw new Error(`plugin said ${CANARY}`);
  });
  await using client = new KubeClient({
    credentials: new Credentials(source, systemClock),
    clock: systemClock,
    fieldManager: "vaultsync",
  });
  const error = await kubeErrorOf(client.get(SECRETS, ref, forever));
  expect(error.kind).toBe("Unauthorized");
  expect(inspect(error)).not.toContain(CANARY);
});

test("a server that accepts and never responds is a Timeout", async () => {
  const clock = new VirtualClock();
  await using pair = await connectClient(() => undefined, { clock });
  const error = await kubeErrorOf(pump(clock, pair.client.get(SECRETS, ref, forever)));
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
  [
    "an object without metadata",
    (_, response) => json(response, 200, { kind: "Secret" }),
    "Unexpected",
  ],
  [
    "a redirect",
    (_, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    "Unexpected",
  ],
  [
    "a proxy's 404",
    (_, response) => void response.writeHead(404).end("404 page not found"),
    "Unexpected",
  ],
])("a read throws after %s and never returns an object", async (_, handler, kind) => {
  await using pair = await connectClient(handler);
  expect((await kubeErrorOf(pair.client.get(SECRETS, ref, forever))).kind).toBe(kind);
});

test("a refused connection is Unavailable", async () => {
  const server = await LoopbackServer.start(() => undefined);
  await using client = new KubeClient({
    credentials: new Credentials(accessTo(server), systemClock),
    clock: systemClock,
    fieldManager: "vaultsync",
  });
  await server[Symbol.asyncDispose]();
  expect(await kubeErrorOf(client.get(SECRETS, ref, forever))).toMatchObject({
    kind: "Unavailable",
    reason: "ECONNREFUSED",
  });
});

test("the error of a rejected write contains neither its value nor the server's message", async () => {
  await using pair = await connectClient(({ body }, response) =>
    json(
      response,
      422,
      failureStatus(422, "Invalid", { causes: [{ field: "data", message: body }] }, body),
    ),
  );
  const error = await kubeErrorOf(
    pair.client.create(SECRETS, { ...secret, data: { key: CANARY } }, forever),
  );
  expect(error.kind).toBe("Invalid");
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(CANARY);
});

test("a signal that is already aborted prevents the request", async () => {
  await using pair = await connectClient((_, response) => json(response, 200, secret));
  const reason = new Error("over");
  await expect(pair.client.get(SECRETS, ref, AbortSignal.abort(reason))).rejects.toBe(reason);
  await expect(pair.client.create(SECRETS, secret, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(pair.server.requests).toHaveLength(0);
});

test("a client behind a closed fence sends no write and still reads", async () => {
  await using pair = await connectClient((_, response) => json(response, 200, secret));
  const client = pair.client.fenced({ mayWrite: () => false, writeTimeoutMs: () => 0 });
  for (const write of [
    client.create(SECRETS, secret, forever),
    client.replace(SECRETS, secret, forever),
    client.patch(SECRETS, secret.metadata, {}, forever),
    client.apply(SECRETS, secret, {}, forever),
    client.replaceStatus(SECRETS, ref, {}, forever),
    client.delete(SECRETS, ref, forever),
  ]) {
    expect((await kubeErrorOf(write)).kind).toBe("NotLeader");
  }
  expect(pair.server.requests).toHaveLength(0);
  expect(await client.get(SECRETS, ref, forever)).toEqual(secret);
});

test("a write that waits for a connection is not sent after the fence closes", async () => {
  const held: ServerResponse[] = [];
  await using pair = await connectClient((_, response) => void held.push(response), {
    concurrency: 1,
  });
  let open = true;
  const client = pair.client.fenced({ mayWrite: () => open, writeTimeoutMs: () => 12_500 });
  const reads = Array.from({ length: 9 }, () => pair.client.get(SECRETS, ref, forever));
  await expect.poll(() => held.length).toBe(9);
  const write = kubeErrorOf(client.create(SECRETS, secret, forever));
  await new Promise((resolve) => setImmediate(resolve));
  open = false;
  held.forEach((each) => json(each, 200, secret));
  expect((await write).kind).toBe("NotLeader");
  await Promise.all(reads);
  expect(pair.server.requests.filter(({ method }) => method === "POST")).toHaveLength(0);
});

test("a write is not sent again after a 401 when the fence has closed", async () => {
  let open = true;
  await using pair = await connectClient((_, response) => {
    open = false;
    json(response, 401, failureStatus(401, "Unauthorized"));
  });
  const client = pair.client.fenced({ mayWrite: () => open, writeTimeoutMs: () => 12_500 });
  expect((await kubeErrorOf(client.create(SECRETS, secret, forever))).kind).toBe("NotLeader");
  expect(pair.server.requests).toHaveLength(1);
});

test("a write ends within the time of its fence", async () => {
  const clock = new VirtualClock();
  await using pair = await connectClient(() => undefined, { clock });
  const client = pair.client.fenced({ mayWrite: () => true, writeTimeoutMs: () => 2_500 });
  expect((await kubeErrorOf(pump(clock, client.create(SECRETS, secret, forever)))).kind).toBe(
    "Timeout",
  );
  expect(clock.monotonic()).toBe(2_500);
});

test("a request that is aborted while it waits for a connection is not sent", async () => {
  const held: ServerResponse[] = [];
  await using pair = await connectClient((_, response) => void held.push(response), {
    concurrency: 1,
  });
  const reads = Array.from({ length: 9 }, () => pair.client.get(SECRETS, ref, forever));
  await expect.poll(() => held.length).toBe(9);
  const stop = new AbortController();
  const aborted = pair.client.get(SECRETS, ref, stop.signal);
  await new Promise((resolve) => setImmediate(resolve));
  const reason = new Error("shutdown");
  stop.abort(reason);
  held.forEach((each) => json(each, 200, secret));
  await expect(aborted).rejects.toBe(reason);
  await Promise.all(reads);
  expect(pair.server).toMatchObject({ requests: { length: 9 }, connections: 9 });
});

test("requests share a few connections, and each watch has its own", async () => {
  await using pair = await connectClient(
    ({ query }, response) => {
      if (query.has("watch")) response.flushHeaders();
      else setImmediate(() => json(response, 200, secret));
    },
    { concurrency: 2 },
  );
  const stop = new AbortController();
  const watches = [1, 2, 3].map(() =>
    Array.fromAsync(pair.client.watch(SECRETS, watching, stop.signal)).catch(() => undefined),
  );
  await Promise.all(Array.from({ length: 100 }, () => pair.client.get(SECRETS, ref, forever)));
  expect(pair.server.connections).toBe(13);
  stop.abort();
  await Promise.all(watches);
});

test("as many writes as the concurrency are in flight, and no read waits for them", async () => {
  const held: ServerResponse[] = [];
  await using pair = await connectClient(
    ({ method }, response) => {
      if (method === "GET") json(response, 200, secret);
      else held.push(response);
    },
    { concurrency: 20 },
  );
  const writes = Array.from({ length: 48 }, () => pair.client.create(SECRETS, secret, forever));
  await expect.poll(() => held.length).toBe(20);
  await Promise.all(Array.from({ length: 8 }, () => pair.client.get(SECRETS, ref, forever)));
  expect(held).toHaveLength(20);
  for (let done = 0; done < 48; done += 1) {
    await expect.poll(() => held.length).toBeGreaterThan(0);
    json(held.shift()!, 200, secret);
  }
  await Promise.all(writes);
});

test("a request aborted while it waits for a retry rejects with the signal's reason", async () => {
  const stop = new AbortController();
  const reason = new Error("shutdown");
  await using pair = await connectClient((_, response) => {
    json(response, 429, failureStatus(429, "TooManyRequests"), { "retry-after": "5" });
    setTimeout(() => stop.abort(reason), 30);
  });
  await expect(pair.client.get(SECRETS, ref, stop.signal)).rejects.toBe(reason);
});
