import { createServer } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { certificate } from "../../../../test/support/certificates.ts";
import { failureOf } from "../../../../test/support/assertions/failure-of.ts";
import { json, raw, reset, ScriptedServer, silence, type Script } from "../../../../test/support/vault/scripted-server.ts";
import { VirtualClock } from "../../../../test/support/clock/virtual-clock.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { VaultTransport, type VaultTransportOptions, type VaultRequest } from "./vault-transport.ts";

const PATH = "/v1/user/secret/list_no_dup";

function open(options: Partial<VaultTransportOptions> & { url: string }): { transport: VaultTransport; clock: VirtualClock } {
  const clock = new VirtualClock();
  const policy = { allowHttp: true, allowedHosts: undefined };
  const transport = new VaultTransport({ clock, ca: undefined, policy, ...options });
  onTestFinished(() => transport[Symbol.asyncDispose]());
  return { transport, clock };
}

function request(more: Partial<VaultRequest> = {}): VaultRequest {
  const signal = new AbortController().signal;
  return { operation: "list_no_dup", body: { email: "a@example.com" }, maxBytes: 1_000, deadlineMs: 10_000, signal, ...more };
}

async function serve(script: Script): Promise<{ server: ScriptedServer; transport: VaultTransport; clock: VirtualClock }> {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(PATH, script);
  return { server, ...open({ url: server.url }) };
}

test("sends a JSON POST with the bare token and asks for no compression", async () => {
  const { server, transport } = await serve(json({ secrets: [] }));
  const response = await transport.request(request({ token: new Redacted("canary-token") }));
  expect(JSON.parse(Buffer.from(response.body).toString())).toEqual({ secrets: [] });
  const [call] = server.calls;
  expect(call?.body).toEqual({ email: "a@example.com" });
  expect(call?.headers).toMatchObject({
    authorization: "canary-token",
    "accept-encoding": "identity",
    "content-type": "application/json",
  });
});

test("keeps a path of the base address", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.on(`/base${PATH}`, json({}));
  await open({ url: `${server.url}/base/` }).transport.request(request());
  expect(server.calls.map((call) => call.path)).toEqual([`/base${PATH}`]);
});

test("a hundred calls use no more than eight sockets", async () => {
  const { server, transport } = await serve(json({}));
  await Promise.all(Array.from({ length: 100 }, () => transport.request(request())));
  expect(server.calls).toHaveLength(100);
  expect(server.sockets).toBeLessThanOrEqual(8);
});

test("nobody listening is unreachable", async () => {
  const server = await ScriptedServer.start();
  const { url } = server;
  await server[Symbol.asyncDispose]();
  const failure = open({ url }).transport.request(request());
  await expect(failure).rejects.toMatchObject({ kind: "transient", code: "unreachable", detail: "ECONNREFUSED" });
});

test.each<[string, Script]>([
  ["reset before the answer", reset],
  [
    "a body shorter than announced",
    (response) => response.writeHead(200, { "content-length": "100" }).write("half", () => response.destroy()),
  ],
  ["a chunked body cut off", (response) => response.writeHead(200).write("half", () => response.destroy())],
])("%s is a reset, never a short answer", async (_, script) => {
  const { transport } = await serve(script);
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "transient", code: "reset" });
});

test("something that is not HTTP is a reset", async () => {
  const server = createServer((socket) => socket.end("SSH-2.0-canary\r\n")).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  await expect(open({ url: `http://127.0.0.1:${port}` }).transport.request(request())).rejects.toMatchObject({ code: "reset" });
});

test.each<[string, Script]>([
  ["no headers", silence],
  ["headers and then nothing", (response) => response.writeHead(200).flushHeaders()],
])("%s until the deadline is a timeout", async (_, script) => {
  const { server, transport, clock } = await serve(script);
  const failure = failureOf(transport.request(request()));
  await expect.poll(() => server.calls).toHaveLength(1);
  await clock.advance(9_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(await failure).toMatchObject({ kind: "transient", code: "timeout" });
});

test("a dripping body does not push the deadline out", async () => {
  let dripping: ReturnType<typeof setInterval> | undefined;
  const { server, transport, clock } = await serve((response) => {
    response.writeHead(200);
    dripping = setInterval(() => response.write(" "), 5);
  });
  onTestFinished(() => clearInterval(dripping));
  const failure = failureOf(transport.request(request()));
  await expect.poll(() => server.calls).toHaveLength(1);
  await clock.advance(10_000);
  expect(await failure).toMatchObject({ kind: "transient", code: "timeout" });
});

test("the caller's signal ends the call with its own reason, and leaves no timer behind", async () => {
  const { server, transport, clock } = await serve(silence);
  const abort = new AbortController();
  const failure = failureOf(transport.request(request({ signal: abort.signal })));
  await expect.poll(() => server.calls).toHaveLength(1);
  const reason = new Error("no longer wanted");
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
      const more = (error?: Error | null): void => void (error || response.write("x".repeat(500), more));
      more();
    },
  ],
])("more bytes than allowed (%s) are not read", async (_, script) => {
  const { transport } = await serve(script);
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "permanent", code: "too_large" });
});

test("exactly as many bytes as allowed are read", async () => {
  const { transport } = await serve(raw("x".repeat(1_000)));
  expect((await transport.request(request())).body).toHaveLength(1_000);
});

test("an error body beyond any sense leaves the status", async () => {
  const { transport } = await serve(raw("x".repeat(100_000), 503));
  expect(await transport.request(request())).toMatchObject({ status: 503, body: new Uint8Array() });
});

test("a compressed answer that nobody asked for is not unpacked", async () => {
  const { transport } = await serve(raw("canary", 200, { "content-encoding": "gzip, gzip" }));
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "unexpected-response", field: "content-encoding" });
});

test("a redirect is not followed and the token goes nowhere else", async () => {
  const elsewhere = await ScriptedServer.start();
  onTestFinished(() => elsewhere[Symbol.asyncDispose]());
  const { transport } = await serve(raw("", 307, { location: `${elsewhere.url}${PATH}` }));
  expect((await transport.request(request({ token: new Redacted("canary-token") }))).status).toBe(307);
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
])("%s under %j is refused without a connection: %s", async (url, policy, code) => {
  const { transport } = open({ url, policy: { allowHttp: true, allowedHosts: undefined, ...policy } });
  const failure = await failureOf(transport.request(request()));
  expect(failure).toMatchObject({ kind: "refused", code });
  expect(String(failure)).not.toContain("canary");
});

test("a name that leads to a forbidden address is refused at connect time", async () => {
  const server = await ScriptedServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const { transport } = open({ url: `https://localhost:${server.port}`, policy: { allowHttp: false, allowedHosts: undefined } });
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "refused", code: "address" });
  expect(server.sockets).toBe(0);
});

test("a name that nobody knows is unreachable", async () => {
  const { transport } = open({ url: "http://vault.invalid" });
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "transient", code: "unreachable" });
});

const authority = certificate("authority");
const day = 86_400_000;

async function serveTls(leaf: ReturnType<typeof certificate>, more = {}): Promise<ScriptedServer> {
  const server = await ScriptedServer.start({ key: leaf.keyPem, cert: leaf.cert, ...more });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server.on(PATH, json({ secrets: [] }));
}

test("TLS: a server certificate of the given authority is trusted", async () => {
  const server = await serveTls(certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] }));
  const { transport } = open({ url: server.url, ca: authority.cert });
  expect((await transport.request(request())).status).toBe(200);
});

test.each([
  [
    "expired",
    { hosts: ["127.0.0.1"], notBefore: new Date(Date.now() - 2 * day), notAfter: new Date(Date.now() - day) },
    "CERT_HAS_EXPIRED",
  ],
  ["not yet valid", { hosts: ["127.0.0.1"], notBefore: new Date(Date.now() + day / 2) }, "CERT_NOT_YET_VALID"],
  ["for another host", { hosts: ["vault.example.com"] }, "ERR_TLS_CERT_ALTNAME_INVALID"],
])("TLS: a certificate %s is refused, with its cause and before the token is sent", async (_, options, detail) => {
  const server = await serveTls(certificate("vault", { issuer: authority, ...options }));
  const { transport } = open({ url: server.url, ca: authority.cert });
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "refused", code: "tls", detail });
  expect(server.calls).toEqual([]);
});

test("TLS: an unknown authority is refused until its bundle is given, without reopening", async () => {
  const server = await serveTls(certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] }));
  const other = certificate("other authority");
  const { transport } = open({ url: server.url, ca: other.cert });
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "refused", code: "tls" });
  transport.updateCa(other.cert + authority.cert);
  expect((await transport.request(request())).status).toBe(200);
});

test("TLS: a given bundle stands instead of the public authorities", async () => {
  const leaf = certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] });
  const { transport } = open({ url: (await serveTls(leaf)).url });
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "refused", code: "tls" });
});

test("TLS: a server that speaks 1.1 at most is refused", async () => {
  const leaf = certificate("vault", { issuer: authority, hosts: ["127.0.0.1"] });
  const server = await serveTls(leaf, { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" });
  const { transport } = open({ url: server.url, ca: authority.cert });
  await expect(transport.request(request())).rejects.toMatchObject({ kind: "refused", code: "tls" });
});

test.each(["", "canary", "-----BEGIN CERTIFICATE-----\nY2FuYXJ5\n-----END CERTIFICATE-----\n"])(
  "a CA bundle %j is refused",
  async (ca) => {
    const { transport } = open({ url: "https://vault.example.com", ca });
    await expect(transport.request(request())).rejects.toMatchObject({ kind: "refused", code: "ca" });
  },
);
