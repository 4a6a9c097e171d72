import { readFile, stat } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest } from "../lab/vault/vault-client.ts";

const directory = new TestDirectory();
const json = { "content-type": "application/json" };

/** Resolves when a socket is closed, by an error or not. */
const closeOf = (socket: Socket) =>
  new Promise<unknown>((resolve) => socket.once("close", resolve));

/** Opens a connection and sends the head of a request. */
async function sendHead(url: string, lines: readonly string[]) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(
    `${["POST /v1/user/secret/list_no_dup HTTP/1.1", "host: localhost", ...lines].join("\r\n")}\r\n\r\n`,
  );
  let text = "";
  socket.on("data", (bytes: Buffer) => (text += bytes.toString()));
  return { socket, received: () => text, closed: closeOf(socket) };
}

test("a request without a token leaves at most 2 KiB in the audit log, whatever it contains", async () => {
  const file = directory.join("bounded.jsonl");
  await using vault = await TestVault.start({ auditLog: { file } });
  const before = (await stat(file)).size;
  const wide = "\u{E000}".repeat(160);
  const names = Array.from({ length: 30 }, () => wide);
  const bodies = [
    { email: "\u{E000}".repeat(320), key_name: names },
    {
      email: '"'.repeat(320),
      key_name: wide,
      owner: wide,
      usr_id_from: wide,
      usr_id_to: names,
      group_id_to: wide,
      permission: wide,
    },
  ];
  for (const body of bodies) {
    for (const path of [operationPath.delete, operationPath.share, operationPath.team_create])
      await vault.post(path, body);
  }
  const lines = (await readFile(file, "utf8")).slice(before).trimEnd().split("\n");
  expect(lines.length).toBe(6);
  for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThan(2048);
});

test("failures beyond the rate of a network leave one line a minute, and valid requests pass", async () => {
  const file = directory.join("summary.jsonl");
  const clock = new VirtualClock();
  const limits = { unauthenticatedFailuresPerSecond: 1, unauthenticatedBurst: 10 };
  await using vault = await TestVault.start({ auditLog: { file }, clock, limits });
  const caller = await vault.client("ann@example.com");
  const before = (await readFile(file, "utf8")).split("\n").length;
  const outcomes = new Map<string, number>();
  for (let sent = 0; sent < 60; sent += 1) {
    const path = sent % 2 === 0 ? operationPath.refresh_token : operationPath.list_no_dup;
    const body = { email: caller.email, refresh_token: "unknown", used_access_token: "unknown" };
    const outcome = (await vault.post(path, body)).outcome();
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  expect([...outcomes]).toEqual([
    ["401 invalid_refresh_token", 30],
    ["401 invalid_token", 30],
  ]);
  expect((await vault.post(operationPath.list_no_dup, {})).outcome()).toBe("429 rate_limited");
  expect((await caller.call("list_no_dup")).status).toBe(200);
  expect((await caller.call("expose", { key_name: 3 })).outcome()).toBe("400 invalid_request");
  await clock.advance(60_000);
  await expect.poll(async () => await readFile(file, "utf8")).toContain('"event":"rejected"');
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  // Ten failures, the list and the invalid request, and the summary.
  expect(lines.length + 1 - before).toBe(13);
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    event: "rejected",
    client: "127.0.0.1",
    requests: 51,
  });
});

test("a body of more than 16 KiB is rejected by its headers when the token is invalid", async () => {
  await using vault = await TestVault.start();
  const declared = await sendHead(vault.url, [
    "content-type: application/json",
    "authorization: unknown",
    "content-length: 16385",
  ]);
  await declared.closed;
  expect(declared.received()).toMatch(/^HTTP\/1\.1 401 .*invalid_token/su);
  const chunked = await sendHead(vault.url, [
    "content-type: application/json",
    "transfer-encoding: chunked",
  ]);
  await chunked.closed;
  expect(chunked.received()).toMatch(/^HTTP\/1\.1 401 /u);
  for (const path of [
    operationPath.refresh_token,
    operationPath.generate_access_token,
    "/app/log_in",
  ]) {
    const response = await sendRequest(vault.url + path, {
      headers: json,
      body: `{"a":"${"x".repeat(16_384)}"}`,
    });
    expect(response.outcome(), path).toBe("413 too_large");
  }
});

test("a response lists at most 20 details and the number of further ones", async () => {
  await using vault = await TestVault.start();
  const caller = await vault.client("ann@example.com");
  const metadata = `{${Array.from({ length: 5_000 }, (_, n) => `"n${n}":1e999`).join(",")}}`;
  const response = await sendRequest(vault.url + operationPath.protect, {
    headers: { ...json, authorization: caller.token },
    body: `{"email":"ann@example.com","key_name":"a","key_value":"v","metadata":${metadata}}`,
  });
  const { details } = response.json().error;
  expect(response.status).toBe(400);
  expect(details.length).toBe(21);
  expect(details.at(-1)).toEqual({ path: "", reason: "and 4980 more" });
});

test("a client that does not send its JSON body, or does not read the response, is disconnected", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({
    clock,
    limits: { bodyTimeoutMs: 20_000, responseTimeoutMs: 10_000 },
  });
  const caller = await vault.client("ann@example.com", undefined, 1e6);
  const idle = await sendHead(vault.url, [
    "content-type: application/json",
    `authorization: ${caller.token}`,
    "content-length: 100000",
  ]);
  await expect.poll(() => clock.pending).toBeGreaterThan(2);
  await clock.advance(20_000);
  await idle.closed;
  expect(idle.received()).toBe("");
  await caller.call("protect", { key_name: "large", key_value: "x".repeat(1_000_000) });
  const body = JSON.stringify({ email: caller.email, key_name: "large" });
  const deaf = connect(Number(new URL(vault.url).port), "127.0.0.1");
  deaf.on("error", () => undefined).pause();
  for (let sent = 0; sent < 20; sent += 1) {
    deaf.write(
      `POST ${operationPath.expose} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: ${caller.token}\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  // A socket that does not read learns of the end when it writes.
  const isDisconnected = async (): Promise<boolean> => {
    await clock.advance(10_000);
    if (!deaf.destroyed) deaf.write("\r\n");
    return deaf.destroyed;
  };
  await expect.poll(isDisconnected).toBe(true);
  expect(deaf.bytesRead).toBeLessThan(20_000_000);
});

/**
 * Opens six connections. Returns the number of connections that the server closes without a
 * response.
 */
async function refusedConnections(options: Parameters<typeof TestVault.start>[0]) {
  await using vault = await TestVault.start(options);
  const open = await Promise.all(
    Array.from({ length: 6 }, () => sendHead(vault.url, ["content-length: 1"])),
  );
  const refused = () =>
    open.filter(({ socket, received }) => socket.destroyed && received() === "").length;
  await expect
    .poll(() => open.filter(({ received }) => received() !== "").length + refused())
    .toBe(6);
  const count = refused();
  for (const { socket } of open) socket.destroy();
  return count;
}

test("connections are limited in total and per network, except those of trusted proxies", async () => {
  expect(await refusedConnections({ limits: { connectionsPerNetwork: 4 } })).toBe(2);
  expect(await refusedConnections({ limits: { connections: 5 } })).toBe(1);
  expect(
    await refusedConnections({
      limits: { connectionsPerNetwork: 4 },
      trustedProxies: ["127.0.0.0/8"],
    }),
  ).toBe(0);
});

/** Sends a request to a server behind a proxy, from an address that the proxy reports. */
const from = (vault: TestVault, address: string, path: string, body: object) =>
  vault.post(path, body, { "x-forwarded-for": address });

test("successes without an account leave as few lines in the audit log as failures", async () => {
  const file = directory.join("successes.jsonl");
  await using vault = await TestVault.start({
    auditLog: { file },
    limits: { unauthenticatedFailuresPerSecond: 0.001, unauthenticatedBurst: 3 },
  });
  const before = (await readFile(file, "utf8")).split("\n").length;
  for (let sent = 0; sent < 20; sent += 1)
    expect((await vault.post("/app/session", {})).status).toBe(200);
  expect((await readFile(file, "utf8")).split("\n").length - before).toBe(3);
});

test("strangers of many networks together leave a bounded number of lines", async () => {
  const file = directory.join("networks.jsonl");
  const clock = new VirtualClock();
  const limits = { unauthenticatedLinesPerSecond: 0.001, unauthenticatedLinesBurst: 10 };
  const options = { auditLog: { file }, clock, limits, trustedProxies: ["127.0.0.1"] };
  await using vault = await TestVault.start(options);
  const before = (await readFile(file, "utf8")).split("\n").length;
  const body = { email: "ann@example.com" };
  for (let network = 0; network < 60; network += 1) {
    const address = `2001:db8:0:${network.toString(16)}::1`;
    const times = network === 59 ? 3 : 1;
    for (let sent = 0; sent < times; sent += 1) {
      expect((await from(vault, address, operationPath.list_no_dup, body)).outcome()).toBe(
        "401 invalid_token",
      );
    }
  }
  await clock.advance(60_000);
  await expect.poll(async () => await readFile(file, "utf8")).toContain('"client":"others"');
  const lines = (await readFile(file, "utf8"))
    .trimEnd()
    .split("\n")
    .slice(before - 1)
    .map((line) => JSON.parse(line));
  const summaries = lines.filter(({ event }) => event === "rejected");
  expect(lines.length).toBe(31);
  expect(summaries.length).toBe(21);
  expect(summaries[0]).toMatchObject({ client: "2001:db8:0:3b::/64", requests: 3 });
  expect(summaries.reduce((sum, { requests }) => sum + Number(requests), 0)).toBe(52);
});
