import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import type { VaultServerOptions } from "../../src/vault/server/vault-server.ts";
import { lineLogger } from "../lab/assertions/recording-logger.ts";
import { certificate } from "../lab/certificates.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { auditEntries } from "../lab/vault/audit-entries.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

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

const body = JSON.stringify({ email: "ann@example.com" });
/** Leaves a line with the client's address in the audit log. */
const REQUEST = `POST ${operationPath.list_file} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-forwarded-for: 203.0.113.1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
const LAST_REQUEST = `${REQUEST}connection: close\r\n\r\n${body}`;

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

const headers: [string, Uint8Array, string][] = [
  ["TCP4", Buffer.from(LINE), "192.0.2.1"],
  ["TCP6", Buffer.from("PROXY TCP6 2001:db8::1 ::1 56324 8200\r\n"), "2001:db8::1"],
  ["UNKNOWN", Buffer.from("PROXY UNKNOWN\r\n"), "127.0.0.1"],
  ["PROXY over IPv4", Buffer.from([...SIGNATURE, 0x21, 0x11, 0, 12, ...V4]), "192.0.2.1"],
  ["PROXY over IPv6", Buffer.from([...SIGNATURE, 0x21, 0x21, 0, 36, ...V6]), "2001:db8::1"],
  ["LOCAL", Buffer.from([...SIGNATURE, 0x20, 0, 0, 0]), "127.0.0.1"],
];

describe.each(headers)("the client of a header %s", (_, header, client) => {
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
    `${REQUEST}\r\n${body}`,
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
