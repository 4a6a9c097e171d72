import { expect, onTestFinished, test } from "vitest";
import { certificate } from "../../../../test/lab/certificates.ts";
import { ConnectProxy } from "../../../../test/lab/vault/connect-proxy.ts";
import { json, ScriptedServer } from "../../../../test/lab/vault/scripted-vault.ts";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import { Redacted } from "../../../lib/redacted.ts";
import { UndiciTransport } from "./undici-transport.ts";

const PATH = "/v1/user/secret/list_no_dup";
const authority = certificate("authority");
const { cert, keyPem: key } = certificate("vault", {
  issuer: authority,
  hosts: ["vault.example.com", "vault.shop.svc", "127.0.0.1"],
});

/** A vault behind a proxy that knows the address of vault.example.com. */
async function behindProxy({ status = 200, except = ["*.svc"] } = {}) {
  const vault = await ScriptedServer.start({ cert, key });
  onTestFinished(() => vault[Symbol.asyncDispose]());
  vault.on(PATH, json({ secrets: [] }));
  const proxy = await ConnectProxy.start({ port: vault.port, status });
  onTestFinished(() => proxy[Symbol.dispose]());
  const to = { url: proxy.url, except };
  const open = (url: string, ca = authority.cert): UndiciTransport => {
    const policy = { allowHttp: true, allowedHosts: ["*.example.com", "*.svc", "127.0.0.1"] };
    const transport = new UndiciTransport({
      url,
      clock: new VirtualClock(),
      ca,
      policy,
      proxy: to,
    });
    onTestFinished(() => transport[Symbol.asyncDispose]());
    return transport;
  };
  return { vault, proxy, open };
}

const list = (transport: UndiciTransport) =>
  transport.request({
    operation: "list_no_dup",
    body: { email: "a@example.com" },
    token: new Redacted("canary-token"),
    maxBytes: 1_000,
    deadlineMs: 10_000,
    signal: new AbortController().signal,
  });

test("a proxy connects to the vault by its name, and sees nothing of the requests", async () => {
  const { vault, proxy, open } = await behindProxy();
  const transport = open("https://vault.example.com:8443");
  for (const _ of [1, 2]) expect((await list(transport)).status).toBe(200);
  expect(vault.requests.map(({ headers }) => headers["authorization"])).toEqual(
    Array.from({ length: 2 }, () => "canary-token"),
  );
  expect(proxy.seen).toEqual(["CONNECT vault.example.com:8443 connection host proxy-connection"]);
});

test("a vault with http is reached through a tunnel as well", async () => {
  const { proxy, open } = await behindProxy();
  await expect(list(open("http://vault.example.com:8080"))).rejects.toMatchObject({
    kind: "transient",
  });
  expect(proxy.seen).toEqual([expect.stringMatching(/^CONNECT vault\.example\.com:8080 /u)]);
});

test.each(["https://127.0.0.1", "https://localhost"])(
  "a host that the proxy is not for is connected to directly: %s",
  async (url) => {
    const { vault, proxy, open } = await behindProxy({ except: ["127.0.0.1", "localhost"] });
    await list(open(`${url}:${vault.port}`)).catch(() => undefined);
    expect(proxy.seen).toEqual([]);
  },
);

test("the certificate of the vault is verified through the proxy, with its host", async () => {
  const { vault, open } = await behindProxy();
  await expect(list(open("https://other.example.com"))).rejects.toMatchObject({ code: "tls" });
  const stranger = certificate("stranger").cert;
  await expect(list(open("https://vault.example.com", stranger))).rejects.toMatchObject({
    code: "tls",
  });
  expect(vault.requests).toEqual([]);
});

test("addresses and hosts that the policy refuses are refused before the proxy is asked", async () => {
  const { proxy, open } = await behindProxy();
  for (const host of ["169.254.169.254", "vault.example.net"])
    await expect(list(open(`https://${host}`))).rejects.toMatchObject({ code: "host" });
  expect(proxy.seen).toEqual([]);
});

test.each([403, 407, 502])("a proxy that refuses a tunnel with %s is named", async (status) => {
  const { open } = await behindProxy({ status });
  await expect(list(open("https://vault.example.com"))).rejects.toMatchObject({
    kind: "transient",
    code: "unreachable",
    detail: `PROXY_${status}`,
  });
});

test("a proxy that cannot be reached is named", async () => {
  const { open, proxy } = await behindProxy();
  proxy[Symbol.dispose]();
  await expect(list(open("https://vault.example.com"))).rejects.toMatchObject({
    code: "unreachable",
    detail: "PROXY_ECONNREFUSED",
  });
});
