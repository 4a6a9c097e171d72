import { createServer } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { certificate } from "../../../../test/lab/certificates.ts";
import { failureOf } from "../../../../test/lab/assertions/failure-of.ts";
import {
  json,
  raw,
  reset,
  ScriptedServer,
  silence,
  type Script,
} from "../../../../test/lab/vault/scripted-vault.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { packageVersion } from "../../../lib/package-version.ts";
import { operationPath } from "../../../protocol/operation-paths.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { UndiciTransport, type UndiciTransportOptions } from "./undici-transport.ts";
import type { VaultRequest, VaultTransport } from "./vault-transport.ts";

const PATH = "/v1/user/secret/list_no_dup";

function open(options: Partial<UndiciTransportOptions> & { url: string }): {
  transport: VaultTransport;
  clock: VirtualClock;
} {
  const clock = new VirtualClock();
  const policy = { allowHttp: true, allowedHosts: undefined };
  const transport = new UndiciTransport({ clock, ca: undefined, policy, ...options });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  return { transport, clock };
}

function request(more: Partial<VaultRequest> = {}): VaultRequest {
  const signal = new AbortController().signal;
  return {
    operation: "list_no_dup",
    body: { email: "a@example.com" },
    maxBytes: 1_000,
    deadlineMs: 10_000,
    signal,
    ...more,
  };
}

async function serve(
  script: Script,
): Promise<{ server: ScriptedServer; transport: VaultTransport; clock: VirtualClock }> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(PATH, script);
  return { server, ...open({ url: server.url }) };
}

test("sends a JSON POST with the bare token and accepts no compression", async () => {
  const { server, transport } = await serve(json({ secrets: [] }));
  const response = await transport.request(request({ token: new Redacted("canary-token") }));
  expect(JSON.parse(Buffer.from(response.body).toString())).toEqual({ secrets: [] });
  const [received] = server.requests;
  expect(received?.body).toEqual({ email: "a@example.com" });
  expect(received?.headers).toMatchObject({
    authorization: "canary-token",
    "accept-encoding": "identity",
    "content-type": "application/json",
  });
});

test("names its version, and the consumer of a value if it is given", async () => {
  const { server, transport } = await serve(json({ secrets: [] }));
  await transport.request(request());
  await transport.request(request({ consumer: "prod/shop/VaultSecret/db" }));
  expect(
    server.requests.map(({ headers }) => [headers["user-agent"], headers["vaultsync-consumer"]]),
  ).toEqual([
    [`vaultsync/${packageVersion()}`, undefined],
    [`vaultsync/${packageVersion()}`, "prod/shop/VaultSecret/db"],
  ]);
});

test("keeps the path of the base address", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(`/base${PATH}`, json({}));
  await open({ url: `${server.url}/base/` }).transport.request(request());
  expect(server.requests.map(({ path }) => path)).toEqual([`/base${PATH}`]);
});

test("a hundred concurrent requests use at most eight sockets", async () => {
  const { server, transport } = await serve(json({}));
  await Promise.all(Array.from({ length: 100 }, () => transport.request(request())));
  expect(server.requests).toHaveLength(100);
  expect(server.sockets).toBeLessThanOrEqual(8);
});

test("a refused connection is unreachable", async () => {
  const server = await ScriptedServer.start();
  const { url } = server;
  await server[Symbol.asyncDispose]();
  const failure = open({ url }).transport.request(request());
  await expect(failure).rejects.toMatchObject({
    kind: "transient",
    code: "unreachable",
    detail: "ECONNREFUSED",
  });
});

test.each<[string, Script]>([
  ["a reset before the response", reset],
  [
    "a body shorter than announced",
    (response) =>
      response.writeHead(200, { "content-length": "100" }).write("half", () => response.destroy()),
  ],
  [
    "a truncated chunked body",
    (response) => response.writeHead(200).write("half", () => response.destroy()),
  ],
])("%s fails with reset and never returns a short body", async (_, script) => {
  const { transport } = await serve(script);
  await expect(transport.request(request())).rejects.toMatchObject({
    kind: "transient",
    code: "reset",
    detail: expect.stringMatching(/^(?:ECONNRESET|UND_ERR_[A-Z_]+)$/u),
  });
});

test("a response that is not HTTP fails with reset", async () => {
  const server = createServer((socket) => socket.end("SSH-2.0-canary\r\n")).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await expect(
    open({ url: `http://127.0.0.1:${port}` }).transport.request(request()),
  ).rejects.toMatchObject({ code: "reset" });
});

test.each<[string, Script]>([
  ["sends no headers", silence],
  ["sends only headers", (response) => response.writeHead(200).flushHeaders()],
])("times out at the deadline when the server %s", async (_, script) => {
  const { server, transport, clock } = await serve(script);
  const failure = failureOf(transport.request(request()));
  await expect.poll(() => server.requests).toHaveLength(1);
  await clock.advance(9_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(await failure).toMatchObject({ kind: "transient", code: "timeout" });
});

test("a slow body does not extend the deadline", async () => {
  let dripping: ReturnType<typeof setInterval> | undefined;
  const { server, transport, clock } = await serve((response) => {
    response.writeHead(200);
    dripping = setInterval(() => response.write(" "), 5);
  });
  onTestFinished(() => clearInterval(dripping));
  const failure = failureOf(transport.request(request()));
  await expect.poll(() => server.requests).toHaveLength(1);
  await clock.advance(10_000);
  expect(await failure).toMatchObject({ kind: "transient", code: "timeout" });
});

test("an aborted request rejects with the reason of its signal and leaves no timer", async () => {
  const { server, transport, clock } = await serve(silence);
  const abort = new AbortController();
  const failure = failureOf(transport.request(request({ signal: abort.signal })));
  await expect.poll(() => server.requests).toHaveLength(1);
  const reason = new Error("aborted");
  abort.abort(reason);
  expect(await failure).toBe(reason);
  expect(clock.pending).toBe(0);
});

test.each<[string, Script]>([
  ["announced", raw("x".repeat(1_001))],
  [
    "counted",
    (response) => {
      response.writeHead(200);
      const more = (error?: Error | null): void =>
        void (error || response.write("x".repeat(500), more));
      more();
    },
  ],
])("a body larger than the limit fails (%s)", async (_, script) => {
  const { server, transport } = await serve(script);
  const list = {
    kind: "permanent",
    code: "list_too_long",
    excess: "more than 1000 bytes (--max-list-bytes)",
  };
  await expect(transport.request(request())).rejects.toMatchObject(list);
  server.on(operationPath.expose, script);
  const value = { kind: "permanent", code: "too_large" };
  await expect(transport.request(request({ operation: "expose" }))).rejects.toMatchObject(value);
});

test("a body of exactly the limit is returned", async () => {
  const { transport } = await serve(raw("x".repeat(1_000)));
  expect((await transport.request(request())).body).toHaveLength(1_000);
});

test("an oversized error body is dropped and its status is kept", async () => {
  const { transport } = await serve(raw("x".repeat(100_000), 503));
  expect(await transport.request(request())).toMatchObject({ status: 503, body: new Uint8Array() });
});

test("a compressed response is rejected without being decompressed", async () => {
  const { transport } = await serve(raw("canary", 200, { "content-encoding": "gzip, gzip" }));
  await expect(transport.request(request())).rejects.toMatchObject({
    kind: "unexpected-response",
    field: "content-encoding",
  });
});

test("a redirect is not followed and the token is sent to no other host", async () => {
  const elsewhere = await ScriptedServer.start();
  onTestFinished(() => elsewhere[Symbol.asyncDispose]());
  const { transport } = await serve(raw("", 307, { location: `${elsewhere.url}${PATH}` }));
  expect((await transport.request(request({ token: new Redacted("canary-token") }))).status).toBe(
    307,
  );
  expect(elsewhere.sockets).toBe(0);
});

test.each([
  ["http://127.0.0.1:1", { allowHttp: false }, "insecure"],
  ["https://127.0.0.1:1", { allowHttp: false }, "address"],
  ["http://169.254.169.254", {}, "address"],
  ["https://vault.example.com", { allowedHosts: ["other.example.com"] }, "host"],
  ["ftp://vault.example.com", {}, "url"],
  ["https://user:canary@vault.example.com", {}, "url"],
  ["canary", {}, "url"],
])("refuses %s with policy %j before connecting: %s", async (url, policy, code) => {
  const { transport } = open({
    url,
    policy: { allowHttp: true, allowedHosts: undefined, ...policy },
  });
  const failure = await failureOf(transport.request(request()));
  expect(failure).toMatchObject({ kind: "refused", code });
  expect(String(failure)).not.toContain("canary");
});

test("a name that resolves to a forbidden address is refused at connect time", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { transport } = open({
    url: `https://localhost:${server.port}`,
    policy: { allowHttp: false, allowedHosts: undefined },
  });
  await expect(transport.request(request())).rejects.toMatchObject({
    kind: "refused",
    code: "address",
  });
  expect(server.sockets).toBe(0);
});

test("an unknown host name is unreachable", async () => {
  const { transport } = open({ url: "http://vault.invalid" });
  await expect(transport.request(request())).rejects.toMatchObject({
    kind: "transient",
    code: "unreachable",
  });
});

const authority = certificate("authority");
const day = 86_400_000;

async function serveTls(leaf: ReturnType<typeof certificate>, more = {}): Promise<ScriptedServer> {
  const server = await ScriptedServer.start({ key: leaf.keyPem, cert: leaf.cert, ...more });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server.on(PATH, json({ secrets: [] }));
}

test("TLS: trusts a server certificate of the CA bundle", async () => {
  const server = await serveTls(certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] }));
  const { transport } = open({ url: server.url, ca: authority.cert });
  expect((await transport.request(request())).status).toBe(200);
});

test.each([
  [
    "expired",
    {
      hosts: ["127.0.0.1"],
      notBefore: new Date(Date.now() - 2 * day),
      notAfter: new Date(Date.now() - day),
    },
    "CERT_HAS_EXPIRED",
  ],
  [
    "not yet valid",
    { hosts: ["127.0.0.1"], notBefore: new Date(Date.now() + day / 2) },
    "CERT_NOT_YET_VALID",
  ],
  ["for another host", { hosts: ["vault.example.com"] }, "ERR_TLS_CERT_ALTNAME_INVALID"],
])("TLS: refuses a certificate that is %s before the token is sent", async (_, options, detail) => {
  const server = await serveTls(certificate("vault", { issuer: authority, ...options }));
  const { transport } = open({ url: server.url, ca: authority.cert });
  await expect(transport.request(request())).rejects.toMatchObject({
    kind: "refused",
    code: "tls",
    detail,
  });
  expect(server.requests).toEqual([]);
});

test("TLS: updateCa makes an unknown authority trusted without reopening", async () => {
  const server = await serveTls(certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] }));
  const other = certificate("other authority");
  const { transport } = open({ url: server.url, ca: other.cert });
  await expect(transport.request(request())).rejects.toMatchObject({
    kind: "refused",
    code: "tls",
  });
  transport.updateCa(other.cert + authority.cert);
  expect((await transport.request(request())).status).toBe(200);
});

test("TLS: refuses an authority that is neither public nor in a CA bundle", async () => {
  const leaf = certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] });
  const { transport } = open({ url: (await serveTls(leaf)).url });
  await expect(transport.request(request())).rejects.toMatchObject({
    kind: "refused",
    code: "tls",
  });
});

test("TLS: refuses a server that supports at most TLS 1.1", async () => {
  const leaf = certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] });
  const server = await serveTls(leaf, {
    minVersion: "TLSv1",
    maxVersion: "TLSv1.1",
    ciphers: "DEFAULT@SECLEVEL=0",
  });
  const { transport } = open({ url: server.url, ca: authority.cert });
  await expect(transport.request(request())).rejects.toMatchObject({
    kind: "refused",
    code: "tls",
  });
});

test.each(["", "canary", "-----BEGIN CERTIFICATE-----\nY2FuYXJ5\n-----END CERTIFICATE-----\n"])(
  "refuses the CA bundle %j",
  async (ca) => {
    const { transport } = open({ url: "https://vault.example.com", ca });
    await expect(transport.request(request())).rejects.toMatchObject({
      kind: "refused",
      code: "ca",
    });
  },
);

test("requests one after the other share a socket", async () => {
  const { server, transport } = await serve(json({}));
  for (let count = 0; count < 20; count += 1) await transport.request(request());
  expect(server.requests).toHaveLength(20);
  expect(server.sockets).toBe(1);
});
