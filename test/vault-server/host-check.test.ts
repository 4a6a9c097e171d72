import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { sendRequest } from "../lab/vault/vault-client.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const REJECTED = "421 misdirected_request";

/** Returns the outcome of `/healthz` for each value of `host`. */
async function outcomes(
  vault: TestVault,
  hosts: readonly string[],
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const host of hosts) {
    found[host] = (
      await sendRequest(`${vault.url}/healthz`, { method: "GET", headers: { host } })
    ).outcome();
  }
  return found;
}

/** Sends bytes to a listener and returns its response. */
async function raw(base: string, lines: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(base).port), "127.0.0.1");
  socket.write([...lines, "connection: close", "", ""].join("\r\n"));
  return text(socket);
}

const statusOf = (response: string): number =>
  Number(/^HTTP\/1\.1 ([0-9]{3}) /u.exec(response)?.[1]);

const all = (hosts: readonly string[], outcome: string) =>
  Object.fromEntries(hosts.map((host) => [host, outcome]));

const LOCAL = [
  "127.0.0.1",
  "127.0.0.1:8200",
  "[::1]:8200",
  "192.0.2.7",
  "localhost",
  "LocalHost:1",
  "localhost.",
];

test("a server on loopback accepts addresses and localhost, and no other name", async () => {
  await using vault = await TestVault.start();
  expect(await outcomes(vault, LOCAL)).toEqual(all(LOCAL, "200"));
  const others = [
    "attacker.example",
    "attacker.example:8200",
    "localhost.attacker.example",
    "127.0.0.1.attacker.example",
  ];
  expect(await outcomes(vault, others)).toEqual(all(others, REJECTED));
});

test("a server with --app-url or --allowed-hosts accepts their hosts too", async () => {
  await using vault = await TestVault.start({
    listen: { host: "0.0.0.0", port: 0 },
    appUrl: "https://Vault.example.com:8443",
    allowedHosts: ["vault.vaultsync.svc", "*.cluster.local"],
  });
  const own = [
    ...LOCAL,
    "vault.example.com",
    "vault.vaultsync.svc:8200",
    "a.cluster.local",
    "a.b.cluster.local",
  ];
  expect(await outcomes(vault, own)).toEqual(all(own, "200"));
  const others = [
    "example.com",
    "a.vault.example.com",
    "other.vaultsync.svc",
    "cluster.local",
    "notcluster.local",
    ".cluster.local",
  ];
  expect(await outcomes(vault, others)).toEqual(all(others, REJECTED));
});

test("a server on another address accepts every host unless one is named", async () => {
  await using vault = await TestVault.start({ listen: { host: "0.0.0.0", port: 0 } });
  expect(await outcomes(vault, ["vault", "vault.vaultsync.svc:8200"])).toEqual(
    all(["vault", "vault.vaultsync.svc:8200"], "200"),
  );
});

test("an operation for another host is rejected before its token is read", async () => {
  await using vault = await TestVault.start();
  const ann = await vault.client("ann@example.com");
  const response = await ann.call("list_no_dup", {}, { host: "attacker.example" });
  expect(response.outcome()).toEqual(REJECTED);
  expect(response.json().error.message).toEqual(expect.stringContaining("--allowed-hosts"));
  expect(response.bytes.toString()).not.toContain("attacker");
  expect(response.headers["x-request-id"]).toMatch(/./u);
  const unknown = await vault.post(operationPath.list_no_dup, {}, { host: "attacker.example" });
  expect(unknown.outcome()).toBe(REJECTED);
});

test.each([
  ["two hosts", ["host: localhost", "host: localhost"]],
  ["two different hosts", ["host: localhost", "Host: attacker.example"]],
  ["a list of hosts", ["host: localhost, attacker.example"]],
  ["a user in the host", ["host: user@localhost"]],
  ["a path in the host", ["host: localhost/path"]],
])("a request with %s is a 400 on both listeners", async (_what, lines) => {
  await using vault = await TestVault.start();
  const response = await raw(vault.url, ["GET /healthz HTTP/1.1", ...lines]);
  expect(statusOf(response)).toBe(400);
  expect(response).toEqual(expect.stringContaining('"code":"invalid_request"'));
  expect(statusOf(await raw(vault.metricsUrl, ["GET /healthz HTTP/1.1", ...lines]))).toBe(400);
});

test.each([
  ["http://attacker.example/healthz", 421],
  ["http://attacker.example:8200/healthz", 421],
  ["http://localhost/healthz", 200],
])("the host of the request target %s is checked: %d", async (target, status) => {
  await using vault = await TestVault.start();
  for (const base of [vault.url, vault.metricsUrl]) {
    expect(statusOf(await raw(base, [`GET ${target} HTTP/1.1`, "host: localhost"]))).toBe(status);
  }
});

test("the listener for metrics on loopback rejects other names, and --app-url does not limit it", async () => {
  await using vault = await TestVault.start({
    appUrl: "https://vault.example.com",
    allowedHosts: ["vault.vaultsync.svc"],
  });
  const status = async (host: string) =>
    (await sendRequest(`${vault.metricsUrl}/metrics`, { method: "GET", headers: { host } })).status;
  expect(await status("attacker.example")).toBe(421);
  expect(await status("localhost:9464")).toBe(200);
  expect(await status("127.0.0.1")).toBe(200);
  expect(await status("vault.vaultsync.svc")).toBe(200);
  await using reachable = await TestVault.start({
    appUrl: "https://vault.example.com",
    metricsListen: { host: "0.0.0.0", port: 0 },
  });
  const headers = { host: "vault.vaultsync.svc:9464" };
  expect(
    (await sendRequest(`${reachable.metricsUrl}/metrics`, { method: "GET", headers })).status,
  ).toBe(200);
});
