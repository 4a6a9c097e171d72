import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { operationPath, sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import type { VaultServerOptions } from "../../src/vault/server/vault-server.ts";
import { lineLogger } from "../lab/assertions/recording-logger.ts";
import { certificate } from "../lab/certificates.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { auditEntries } from "../lab/vault/audit-entries.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { OutgoingHttpHeaders } from "node:http";
import { scopeString, sendRequest } from "../lab/vault/vault-client.ts";

const directory = new TestDirectory();
const { cert, keyPem: key } = certificate("vault", { hosts: ["127.0.0.1"] });

const SIGNATURE = [...Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1")];
const V4 = [192, 0, 2, 1, 127, 0, 0, 1, 0xdc, 0x04, 0x20, 0x08];
const V6 = [
  0x20,
  0x01,
  0x0d,
  0xb8,
  ...Array(11).fill(0),
  1,
  ...Array(16).fill(0),
  0xdc,
  0x04,
  0x20,
  0x08,
];
const LINE = "PROXY TCP4 192.0.2.1 127.0.0.1 56324 8200\r\n";

const requestBody = JSON.stringify({ email: "ann@example.com" });
/** Leaves a line with the client's address in the audit log. */
const REQUEST = `POST ${operationPath.list_file} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-forwarded-for: 203.0.113.1\r\ncontent-type: application/json\r\ncontent-length: ${requestBody.length}\r\n`;
const LAST_REQUEST = `${REQUEST}connection: close\r\n\r\n${requestBody}`;

const behindProxy = (more: Partial<VaultServerOptions> = {}): Promise<TestVault> =>
  TestVault.start({
    trustedProxies: ["127.0.0.0/8"],
    proxyProtocol: true,
    auditLog: { file: directory.join("audit.jsonl") },
    ...more,
  });

/** Connects without TLS. */
async function open({ url }: TestVault): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  return socket.setNoDelay(true);
}

/**
 * Sends everything on a connection and returns what the server sends until it closes the
 * connection.
 */
async function responseTo(
  socket: Socket,
  ...chunks: readonly (string | Uint8Array)[]
): Promise<string> {
  let received = "";
  socket.on("data", (chunk: Buffer) => (received += chunk.toString()));
  // The server resets a connection with bytes that it does not read.
  socket.on("error", () => socket.destroy());
  const closed = new Promise((resolve) => socket.once("close", resolve));
  for (const chunk of chunks) {
    socket.write(chunk);
    // Each chunk arrives alone.
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  return received;
}

/** Returns the client addresses in the audit log. */
async function clients(): Promise<string[]> {
  const entries = await auditEntries(directory.join("audit.jsonl"));
  return entries.filter(({ operation }) => operation !== undefined).map(({ client }) => client);
}

const proxyHeaders: [string, Uint8Array, string][] = [
  ["TCP4", Buffer.from(LINE), "192.0.2.1"],
  ["TCP6", Buffer.from("PROXY TCP6 2001:db8::1 ::1 56324 8200\r\n"), "2001:db8::1"],
  ["UNKNOWN", Buffer.from("PROXY UNKNOWN\r\n"), "127.0.0.1"],
  ["PROXY over IPv4", Buffer.from([...SIGNATURE, 0x21, 0x11, 0, 12, ...V4]), "192.0.2.1"],
  ["PROXY over IPv6", Buffer.from([...SIGNATURE, 0x21, 0x21, 0, 36, ...V6]), "2001:db8::1"],
  ["LOCAL", Buffer.from([...SIGNATURE, 0x20, 0, 0, 0]), "127.0.0.1"],
];

describe.each(proxyHeaders)("the client of a header %s", (_, header, client) => {
  test("is that of the request, without TLS and with it", async () => {
    await using plain = await behindProxy();
    expect(await responseTo(await open(plain), header, LAST_REQUEST)).toContain("HTTP/1.1 401");
    expect(await clients()).toEqual([client]);

    const file = directory.join("audit.jsonl.tls");
    await using secure = await behindProxy({ tls: { cert, key }, auditLog: { file } });
    const socket = await open(secure);
    socket.write(header);
    const encrypted = connectTls({ socket, ca: cert, checkServerIdentity: () => undefined });
    expect(await responseTo(encrypted, LAST_REQUEST)).toContain("HTTP/1.1 401");
    expect(
      (await auditEntries(file)).filter(({ operation }) => operation).map((entry) => entry.client),
    ).toEqual([client]);
  });
});

test("a header is read in one packet with a request, in two, and byte by byte", async () => {
  await using vault = await behindProxy();
  const bytes = Buffer.from(LINE + LAST_REQUEST);
  const arrivals = [
    [bytes],
    [bytes.subarray(0, 20), bytes.subarray(20)],
    [
      bytes.subarray(0, LINE.length - 1),
      bytes.subarray(LINE.length - 1, LINE.length + 9),
      bytes.subarray(LINE.length + 9),
    ],
    [...bytes].map((byte) => Buffer.from([byte])),
  ];
  for (const chunks of arrivals)
    expect(await responseTo(await open(vault), ...chunks)).toContain("HTTP/1.1 401");
  expect(await clients()).toEqual(arrivals.map(() => "192.0.2.1"));
});

test("the client of a header is that of all requests of the connection", async () => {
  await using vault = await behindProxy();
  const responses = await responseTo(
    await open(vault),
    LINE,
    `${REQUEST}\r\n${requestBody}`,
    LAST_REQUEST,
  );
  expect(responses.match(/HTTP\/1\.1 401/gu)).toHaveLength(2);
  expect(await clients()).toEqual(["192.0.2.1", "192.0.2.1"]);
});

test.each<[string, string | Uint8Array]>([
  ["no header", LAST_REQUEST],
  ["a malformed line", `PROXY TCP4 192.0.2.1 127.0.0.1 1\r\n${LAST_REQUEST}`],
  ["a line without an end", `PROXY UNKNOWN ${"x".repeat(100_000)}`],
  ["a length of 65535", Buffer.from([...SIGNATURE, 0x21, 0x11, 0xff, 0xff, ...V4])],
  ["an end before that of the header", LINE.slice(0, 30)],
])("a connection of a trusted proxy with %s is closed without a response", async (_, sent) => {
  const lines: string[] = [];
  await using vault = await behindProxy({ logger: lineLogger((line) => void lines.push(line)) });
  const socket = await open(vault);
  const response = responseTo(socket, sent);
  socket.end();
  expect(await response).toBe("");
  expect(await clients()).toEqual([]);
  expect(
    (await vault
      .post(operationPath.list_file, {})
      .catch((error: Error) => error.message)) as string,
  ).toMatch(/hang up|ECONNRESET/u);
  expect(lines.filter((line) => line.includes("PROXY"))).toHaveLength(1);
});

test("a connection whose header takes longer than five seconds is closed", async () => {
  const clock = new VirtualClock();
  await using vault = await behindProxy({ clock });
  const socket = await open(vault);
  const response = responseTo(socket, LINE.slice(0, 10));
  await expect.poll(async () => clock.advance(1000).then(() => socket.closed)).toBe(true);
  expect(await response).toBe("");
});

test("the header of a peer that is not trusted is no header, and its own address counts", async () => {
  await using vault = await behindProxy({ trustedProxies: ["192.0.2.0/24"] });
  expect(await responseTo(await open(vault), LINE, LAST_REQUEST)).toContain("HTTP/1.1 400");
  expect(await responseTo(await open(vault), LAST_REQUEST)).toContain("HTTP/1.1 401");
  expect(await clients()).toEqual(["127.0.0.1"]);
});

test("a forwarded header of a client is not reported as one of an untrusted proxy", async () => {
  const lines: string[] = [];
  await using vault = await behindProxy({ logger: lineLogger((line) => void lines.push(line)) });
  await responseTo(await open(vault), LINE, LAST_REQUEST);
  expect(lines.filter((line) => line.includes("--trust-proxy"))).toEqual([]);
});

test("connections are limited per network of the client", async () => {
  await using vault = await behindProxy({ limits: { connectionsPerNetwork: 2 } });
  const sockets: Socket[] = [];
  for (const last of [1, 1, 1, 2]) {
    const socket = await open(vault);
    socket.on("error", () => socket.destroy());
    socket.resume().write(`PROXY TCP4 192.0.2.${last} 127.0.0.1 1 1\r\nPOST / HTTP/1.1\r\n`);
    sockets.push(socket);
  }
  await expect.poll(() => sockets.map(({ closed }) => closed)).toEqual([false, false, true, false]);
  for (const socket of sockets) socket.destroy();
});

const limits = { loginFailuresPerNetwork: 3 };

/** Fails logins of new accounts: only the IP address can be throttled. */
async function outcomes(
  vault: TestVault,
  forwarded: readonly (string | undefined)[],
): Promise<string[]> {
  const responses: string[] = [];
  for (const address of forwarded) {
    const body = { email: `user${Math.random()}@example.com`, password: "wrong" };
    const headers = address === undefined ? {} : { "x-forwarded-for": address };
    responses.push((await vault.post(sessionOperationPath.app_log_in, body, headers)).outcome());
  }
  return responses;
}

const FAILED = "401 invalid_credentials";
const SLOWED = "429 rate_limited";

test("x-forwarded-for is ignored by default", async () => {
  await using vault = await TestVault.start({ clock: new VirtualClock(), limits });
  const claimed = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});

test.each([["127.0.0.1"], ["127.0.0.0/8"], ["10.0.0.0/8", "127.0.0.0/8"]])(
  "clients behind the trusted proxy %s are throttled one by one",
  async (...trustedProxies) => {
    await using vault = await TestVault.start({
      clock: new VirtualClock(),
      limits,
      trustedProxies,
    });
    const one = "192.0.2.1";
    expect(await outcomes(vault, [one, one, one, one])).toEqual([FAILED, FAILED, FAILED, SLOWED]);
    expect(await outcomes(vault, ["192.0.2.2", undefined])).toEqual([FAILED, FAILED]);
  },
);

test("an address claimed by the client itself is ignored", async () => {
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    limits,
    trustedProxies: ["127.0.0.1"],
  });
  const claimed = [1, 2, 3, 4].map((last) => `198.51.100.${last}, 192.0.2.1`);
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});

test("an untrusted proxy is treated as a client", async () => {
  await using vault = await TestVault.start({
    clock: new VirtualClock(),
    limits,
    trustedProxies: ["10.0.0.0/8"],
  });
  const claimed = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
  expect(await outcomes(vault, claimed)).toEqual([FAILED, FAILED, FAILED, SLOWED]);
});

test.each([
  ["no proxy is trusted", {}, 1, 4],
  ["another proxy is trusted", { trustedProxies: ["10.0.0.0/8"] }, 1, 4],
  ["the proxy is trusted", { trustedProxies: ["127.0.0.1"] }, 0, 0],
])(
  "ignored addresses are reported once and counted if %s",
  async (_, options, reported, counted) => {
    const lines: string[] = [];
    const logger = lineLogger((line) => void (line.includes("--trust-proxy") && lines.push(line)));
    await using vault = await TestVault.start({
      clock: new VirtualClock(),
      limits,
      logger,
      ...options,
    });
    await outcomes(vault, [undefined, "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"]);
    const metrics = (
      await sendRequest(`${vault.metricsUrl}/metrics`, { method: "GET" })
    ).bytes.toString();
    expect(lines).toHaveLength(reported);
    expect(metrics).toContain(`\nvaultsync_vault_untrusted_forwarded_requests_total ${counted}\n`);
  },
);

test("an ignored address is named in responses to authenticated requests only", async () => {
  await using vault = await TestVault.start();
  const forwarded = { "x-forwarded-for": "192.0.2.1" };
  const headerOf = async (
    path: string,
    headers: OutgoingHttpHeaders,
    password = vault.passwords.get("ann@example.com"),
  ) => {
    const body = { email: "ann@example.com", password, scope: scopeString(), expiration_hours: 1 };
    return (await vault.post(path, body, headers)).headers["x-ignored-forwarded"];
  };
  const { generate_access_token: logIn, list_file: list } = operationPath;
  const authorization = (await vault.client("ann@example.com")).token;
  expect(await headerOf(logIn, forwarded)).toBe("true");
  expect(await headerOf(list, { ...forwarded, authorization })).toBe("true");
  expect(await headerOf(logIn, forwarded, "wrong")).toBeUndefined();
  expect(await headerOf(list, forwarded)).toBeUndefined();
  expect(await headerOf(logIn, {})).toBeUndefined();
  expect(await headerOf(list, { authorization })).toBeUndefined();
});
