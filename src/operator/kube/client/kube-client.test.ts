import { expect, test } from "vitest";
import { connectClient, kubeErrorOf } from "../../../../test/lab/kube/connected-client.ts";
import { failureStatus, json, type RequestHandler } from "../../../../test/lab/loopback-server.ts";
import { pump, VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import type { KubeErrorKind } from "../kube-error.ts";
import type { WatchEvent } from "./kube-api.ts";
import { ALL_NAMESPACES, SECRETS, type KubeObject } from "../resource.ts";

const forever = new AbortController().signal;
const ref = { namespace: "a", name: "s" };
const secret: KubeObject = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { ...ref, uid: "u1", resourceVersion: "7" },
};

test("a read returns the object with its kind, also for a metadata-only response", async () => {
  await using pair = await connectClient((_, response) =>
    json(response, 200, {
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: secret.metadata,
    }),
  );
  expect(await pair.client.getMetadata(SECRETS, ref, forever)).toEqual(secret);
  const [request] = pair.server.requests;
  expect(request?.path).toBe("/api/v1/namespaces/a/secrets/s");
  expect(request?.headers.accept).toBe(
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  );
  expect(request?.headers.authorization).toBe("Bearer token");
  expect(request?.headers["accept-encoding"]).toBe("identity");
});

test("each write is sent with the method, path and body that the API server expects", async () => {
  await using pair = await connectClient((_, response) => json(response, 200, secret));
  const { client, server } = pair;
  await client.create(SECRETS, secret, forever);
  await client.replace(SECRETS, secret, forever);
  const state = { ...ref, uid: "u1", resourceVersion: "7" };
  const patch = { metadata: { labels: { a: "b" } }, data: { gone: null } };
  await client.patch(SECRETS, state, patch, forever);
  await client.apply(SECRETS, secret, {}, forever);
  await client.replaceStatus(SECRETS, state, { ready: true }, forever);
  await client.delete(SECRETS, { ...ref, uid: "u1" }, forever);
  const sent = server.requests.map(
    ({ method, path, query, headers }) =>
      `${method} ${path}?${query.toString()} ${headers["content-type"] ?? ""}`,
  );
  expect(sent).toEqual([
    "POST /api/v1/namespaces/a/secrets?fieldManager=vaultsync application/json",
    "PUT /api/v1/namespaces/a/secrets/s?fieldManager=vaultsync application/json",
    "PATCH /api/v1/namespaces/a/secrets/s?fieldManager=vaultsync application/merge-patch+json",
    "PATCH /api/v1/namespaces/a/secrets/s?fieldManager=vaultsync&force=false application/apply-patch+yaml",
    "PUT /api/v1/namespaces/a/secrets/s/status?fieldManager=vaultsync application/json",
    "DELETE /api/v1/namespaces/a/secrets/s? application/json",
  ]);
  expect(JSON.parse(server.requests[2]?.body ?? "")).toEqual({
    metadata: { labels: { a: "b" }, uid: "u1", resourceVersion: "7" },
    data: { gone: null },
  });
  expect(JSON.parse(server.requests[4]?.body ?? "")).toEqual({
    ...secret,
    status: { ready: true },
  });
  expect(JSON.parse(server.requests[5]?.body ?? "")).toMatchObject({
    preconditions: { uid: "u1" },
    propagationPolicy: "Background",
  });
});

test("an API group is served if the API server lists it", async () => {
  const groups = [{ name: "apps" }, { name: "argoproj.io" }];
  await using pair = await connectClient((_, response) =>
    json(response, 200, { kind: "APIGroupList", groups }),
  );
  expect(await pair.client.servesGroup("argoproj.io", forever)).toBe(true);
  expect(await pair.client.servesGroup("argoproj", forever)).toBe(false);
  expect(pair.server.requests[0]?.path).toBe("/apis");
});

const account = { namespace: "a", name: "vaultsync" };
const wanted = { audience: "https://vault.example.com", lifetimeSeconds: 600 };

test("a token of a ServiceAccount is requested for an audience, and is not in the URL", async () => {
  await using pair = await connectClient((_, response) =>
    json(response, 201, { kind: "TokenRequest", status: { token: "canary-token" } }),
  );
  const token = await pair.client.requestToken(account, wanted, forever);
  expect(token.reveal()).toBe("canary-token");
  const [{ method, path, body } = { method: "", path: "", body: "" }] = pair.server.requests;
  expect(`${method} ${path}`).toBe("POST /api/v1/namespaces/a/serviceaccounts/vaultsync/token");
  expect(JSON.parse(body)).toEqual({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: ["https://vault.example.com"], expirationSeconds: 600 },
  });
});

test.each<[number, object, KubeErrorKind]>([
  [201, { kind: "TokenRequest", status: {} }, "Unexpected"],
  [404, failureStatus(404, "NotFound"), "NotFound"],
  [403, failureStatus(403, "Forbidden"), "Forbidden"],
])("a request for a token with the response %d %j is %s", async (status, body, kind) => {
  await using pair = await connectClient((_, response) => json(response, status, body));
  const error = await kubeErrorOf(pair.client.requestToken(account, wanted, forever));
  expect(error.kind).toBe(kind);
  expect(error.message).toContain("create serviceaccounts/token a/vaultsync");
});

test("replace and patch without a resourceVersion send nothing", async () => {
  await using pair = await connectClient((_, response) => json(response, 200, secret));
  const blind = { ...secret, metadata: ref };
  expect(() => pair.client.replace(SECRETS, blind, forever)).toThrow(RangeError);
  expect(() => pair.client.patch(SECRETS, { ...ref, uid: "u1" }, {}, forever)).toThrow(RangeError);
  expect(pair.server.requests).toHaveLength(0);
});

test("list requests one page after the other", async () => {
  await using pair = await connectClient(({ query }, response) => {
    if (query.has("sendInitialEvents")) return json(response, 422, failureStatus(422, "Invalid"));
    const page = query.get("continue") ?? "1";
    const next = page === "3" ? {} : { continue: String(Number(page) + 1) };
    json(response, 200, {
      kind: "SecretList",
      metadata: { resourceVersion: "40", ...next },
      items: [{ metadata: { ...ref, name: page } }],
    });
  });
  const pages = await Array.fromAsync(
    pair.client.list(SECRETS, { namespace: ALL_NAMESPACES, labelSelector: "x=y" }, forever),
  );
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
  expect(
    pair.server.requests
      .slice(1)
      .map(({ query }) => [query.get("limit"), query.get("labelSelector")]),
  ).toEqual([
    ["500", "x=y"],
    ["500", "x=y"],
    ["500", "x=y"],
  ]);
});

interface Line {
  type: string;
  object: object;
}

const added = (name: string, type = "ADDED"): Line => ({
  type,
  object: { metadata: { ...ref, name, resourceVersion: "6" } },
});
const bookmark = (resourceVersion: string, end = true): Line => {
  const annotations = end ? { "k8s.io/initial-events-end": "true" } : {};
  return { type: "BOOKMARK", object: { metadata: { resourceVersion, annotations } } };
};

const names = (objects: readonly KubeObject[] = []): string[] =>
  objects.map(({ metadata }) => metadata.name);

test("list is streamed where the server supports it", async () => {
  const lines = [
    added("1"),
    bookmark("5", false),
    added("2"),
    added("1", "DELETED"),
    added("2", "MODIFIED"),
    bookmark("9"),
  ];
  const closed = Promise.withResolvers<void>();
  await using pair = await connectClient((_, response) => {
    response.on("close", () => closed.resolve());
    response.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  });
  const options = { namespace: "a", metadataOnly: true, fieldSelector: "x=y" };
  const pages = await Array.fromAsync(pair.client.list(SECRETS, options, forever));
  expect(
    pages.map(({ items, deleted, resourceVersion }) => [
      names(items),
      names(deleted),
      resourceVersion,
    ]),
  ).toEqual([
    [["1", "2"], ["1"], "6"],
    [["2"], [], "9"],
  ]);
  expect(pages[1]?.items[0]?.kind).toBe("Secret");
  expect(Object.fromEntries(pair.server.requests[0]?.query ?? [])).toEqual({
    watch: "true",
    sendInitialEvents: "true",
    resourceVersionMatch: "NotOlderThan",
    allowWatchBookmarks: "true",
    fieldSelector: "x=y",
  });
  await closed.promise;
});

test("a paged list is not streamed", async () => {
  const list = { metadata: { resourceVersion: "7" }, items: [] };
  await using pair = await connectClient((_, response) => json(response, 200, list));
  const pages = await Array.fromAsync(
    pair.client.list(SECRETS, { namespace: "a", paged: true }, forever),
  );
  expect(pages.map(({ resourceVersion }) => resourceVersion)).toEqual(["7"]);
  expect(pair.server.requests.map(({ query }) => [...query.keys()])).toEqual([["limit"]]);
});

test("a streamed list that the server ends early is Unavailable", async () => {
  await using pair = await connectClient(
    (_, response) => void response.end(`${JSON.stringify(added("1"))}\n`),
  );
  const list = Array.fromAsync(pair.client.list(SECRETS, { namespace: "a" }, forever));
  expect(await kubeErrorOf(list)).toMatchObject({ kind: "Unavailable", reason: "IncompleteList" });
});

test("a server that never ends a streamed list is asked for pages from then on", async () => {
  const clock = new VirtualClock();
  await using pair = await connectClient(
    ({ query }, response) => {
      if (query.has("sendInitialEvents")) response.write(`${JSON.stringify(added("1"))}\n`);
      else json(response, 200, { metadata: { resourceVersion: "40" }, items: [] });
    },
    { clock },
  );
  const list = (): Promise<unknown> =>
    pump(clock, Array.fromAsync(pair.client.list(SECRETS, { namespace: "a" }, forever)));
  expect((await kubeErrorOf(list())).kind).toBe("Timeout");
  expect(clock.monotonic()).toBeLessThan(11_000);
  expect(await list()).toEqual([{ items: [], resourceVersion: "40" }]);
});

test("watch yields the events and ends when the server ends it", async () => {
  await using pair = await connectClient((_, response) => {
    response.write(`${JSON.stringify({ type: "ADDED", object: { metadata: secret.metadata } })}\n`);
    response.end(
      `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } })}\n`,
    );
  });
  const options = { namespace: "a", resourceVersion: "5", timeoutSeconds: 300, metadataOnly: true };
  expect(await Array.fromAsync(pair.client.watch(SECRETS, options, forever))).toEqual<WatchEvent[]>(
    [
      { type: "added", object: secret },
      { type: "bookmark", resourceVersion: "9" },
    ],
  );
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
    (_, response) =>
      void response.end(
        `${JSON.stringify({ type: "ERROR", object: failureStatus(410, "Expired") })}\n`,
      ),
    "Gone",
  ],
  [
    "a 429",
    (_, response) => json(response, 429, failureStatus(429, "TooManyRequests")),
    "TooManyRequests",
  ],
  ["a truncated line", (_, response) => void response.end('{"type":"ADDED","obj'), "Unavailable"],
  ["a malformed line", (_, response) => void response.end("<html>\n"), "Unexpected"],
  [
    "an event without an object",
    (_, response) => void response.end('{"type":"ADDED"}\n'),
    "Unexpected",
  ],
  [
    "an event of no known type",
    (_, response) => void response.end('{"type":"SHOUTED","object":{}}\n'),
    "Unexpected",
  ],
  [
    "a reset in the middle",
    (_, response, socket) => {
      response.write('{"type":');
      setImmediate(() => socket.resetAndDestroy());
    },
    "Unavailable",
  ],
])("watch throws after %s", async (_, handler, kind) => {
  await using pair = await connectClient(handler);
  const error = await kubeErrorOf(Array.fromAsync(pair.client.watch(SECRETS, watching, forever)));
  expect(error.kind).toBe(kind);
});

test("breaking out of a watch closes its connection", async () => {
  const closed = Promise.withResolvers<void>();
  await using pair = await connectClient((_, response) => {
    response.on("close", () => closed.resolve());
    response.write(
      `${JSON.stringify({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } })}\n`,
    );
  });
  for await (const event of pair.client.watch(SECRETS, watching, forever)) {
    expect(event.type).toBe("bookmark");
    break;
  }
  await closed.promise;
});

test("an aborted watch rejects with the signal's reason", async () => {
  const stop = new AbortController();
  await using pair = await connectClient((_, response) => {
    response.flushHeaders();
    setImmediate(() => stop.abort(new Error("shutdown")));
  });
  await expect(Array.fromAsync(pair.client.watch(SECRETS, watching, stop.signal))).rejects.toThrow(
    "shutdown",
  );
});
