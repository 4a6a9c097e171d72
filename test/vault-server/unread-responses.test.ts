import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { createVaultData } from "../lab/vault/vault-data.ts";

const ann = "ann@example.com";
const bob = "bob@example.com";
/** More than the buffers of two sockets. */
const FILE_BYTES = 48 * 1024 * 1024;

/**
 * Sends the request for a file on a separate connection, waits for the begin of the response, and
 * does not read it.
 */
async function openDownload(
  url: string,
  { token, email }: VaultClient,
  filename: string,
): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => undefined).pause();
  await once(socket, "connect");
  const body = JSON.stringify({ email, filename });
  socket.write(
    `POST ${operationPath.download_file} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `authorization: ${token}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  await once(socket, "readable");
  return socket;
}

async function outcome(user: VaultClient): Promise<string> {
  return (await user.call("download_file", { filename: "none" })).outcome();
}

async function startWithFile(options: Parameters<typeof TestVault.start>[0]) {
  const vault = await TestVault.start(options);
  const caller = await vault.client(ann, undefined, 1e6);
  expect((await caller.upload([{ filename: "f", bytes: Buffer.alloc(FILE_BYTES) }])).status).toBe(
    200,
  );
  return { vault, caller };
}

test("a client that does not read a download is disconnected, one that reads it slowly is not", async () => {
  const clock = new VirtualClock();
  const { vault, caller } = await startWithFile({ clock });
  await using _vault = vault;
  const silent = await openDownload(vault.url, caller, "f");
  // A socket that does not read learns of the end when it writes.
  const isDisconnected = async (): Promise<boolean> => {
    await clock.advance(80_000);
    if (!silent.destroyed) silent.write("\r\n");
    return silent.destroyed;
  };
  await expect.poll(isDisconnected).toBe(true);

  const slow = await openDownload(vault.url, caller, "f");
  let received = 0;
  // A second for each piece, of 64 KiB at most.
  for await (const bytes of slow.resume() as AsyncIterable<Buffer>) {
    received += bytes.length;
    await clock.advance(1000);
    if (received > FILE_BYTES) break;
  }
  expect(received).toBeGreaterThan(FILE_BYTES);
  slow.destroy();
});

test("an account has at most so many downloads in progress, and others are not affected", async () => {
  // In real time, in which the request rate recovers, however often the state is polled.
  const { vault, caller } = await startWithFile({ limits: { downloadsPerAccount: 2 } });
  await using _vault = vault;
  const downloads = [
    await openDownload(vault.url, caller, "f"),
    await openDownload(vault.url, caller, "f"),
  ];
  const opened = async () =>
    (await caller.call("download_file", { filename: "none" })).bytes.toString();
  await expect.poll(opened).toContain("too many simultaneous downloads");
  expect(await outcome(await vault.client(bob))).toBe("404 file_not_found");
  for (const socket of downloads) socket.destroy();
  await expect.poll(() => outcome(caller)).toBe("404 file_not_found");
});

/** More than the socket buffers of a connection take. */
const VALUE_BYTES = 12 * 1024 * 1024;
const limits = {
  secretValueBytes: VALUE_BYTES,
  jsonBodyBytes: 2 * VALUE_BYTES,
  responseTimeoutMs: 1e9,
  requestBurst: 1e6,
};
const MOST = 4;

/** Sends a request and does not read its response. */
function open(vault: TestVault, { token, email }: VaultClient, operation: Operation, body: object) {
  const headers = { "content-type": "application/json", authorization: token };
  const request = httpRequest(vault.url + operationPath[operation], {
    method: "POST",
    agent: false,
    headers,
  });
  const { promise: response, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on("response", resolve).on("error", reject);
  response.catch(() => undefined);
  request.end(JSON.stringify({ email, ...body }));
  return { request, response };
}

test("unread values of an account are counted by their bytes; further ones wait, then get 429", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ clock, limits });
  const [caller, other] = [
    await vault.client(ann, undefined, 1e6),
    await vault.client(bob, undefined, 1e6),
  ];
  const value = { key_name: "large", key_value: "x".repeat(VALUE_BYTES) };
  for (const body of [
    value,
    { ...value, key_name: "shared" },
    { key_name: "short", key_value: "v" },
  ])
    expect((await caller.call("protect", body)).outcome()).toBe("200");
  const grant = { usr_id_from: ann, key_name: "shared", usr_id_to: bob, permission: "R" };
  expect((await caller.call("share", grant)).outcome()).toBe("200");

  const openBytes = (): Promise<number> => vault.metric("vaultsync_vault_open_list_bytes");
  const opened: ClientRequest[] = [];
  const expose = async (
    client: VaultClient,
    operation: Operation,
    body: object,
  ): Promise<IncomingMessage> => {
    const { request, response } = open(vault, client, operation, body);
    opened.push(request);
    return response;
  };
  const version = { key_name: "large", key_version: 1 };
  const unread = [
    await expose(caller, "expose", { key_name: "large" }),
    await expose(caller, "version_expose", version),
    await expose(caller, "expose_link", { key_name: "shared" }),
    await expose(caller, "version_expose_link", { ...version, key_name: "shared" }),
  ];
  expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  expect(await openBytes()).toBeGreaterThanOrEqual(MOST * VALUE_BYTES);
  const further = expose(caller, "expose", { key_name: "large" });
  // Short values, and the values of other accounts, wait for none of them.
  expect((await caller.call("expose", { key_name: "short" })).outcome()).toBe("200");
  expect((await other.call("expose_link", { key_name: "shared" })).outcome()).toBe("200");
  await clock.advance(10_000);
  const rejected = await further;
  expect(rejected.statusCode).toBe(429);
  expect(rejected.headers["retry-after"]).toBe("10");
  for (const request of opened) request.destroy();
  await expect.poll(openBytes).toBe(0);
  expect((await caller.call("expose", { key_name: "large" })).json().key_value).toHaveLength(
    VALUE_BYTES,
  );
});

/** With 50 consumers each, a list of more than the socket buffers of a connection take. */
const SECRETS = 200;
const MOST_UNREAD = 4;

const names = Array.from({ length: SECRETS }, (_, index) => `${index} ${"😀".repeat(250)}`);

/** Sends a request and resolves with its response before it is read. */
function openList(vault: TestVault, { email, token }: VaultClient): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = { "content-type": "application/json", authorization: token };
  const url = vault.url + operationPath.consumer_list;
  httpRequest(url, { method: "POST", agent: false, headers })
    .on("response", (response) => resolve(response.on("error", () => undefined)))
    .on("error", reject)
    .end(JSON.stringify({ email, key_name: names }));
  return promise;
}

test("long lists of consumers that are not read are counted; further ones get 429", async () => {
  const clock = new VirtualClock();
  await using data = await createVaultData();
  const unlimited = { requestsPerSecond: 1e6, requestBurst: 1e6, progressTimeoutMs: 1e9 };
  const masterKey = generateMasterKey();
  await using vault = await TestVault.start({
    data: data.location,
    masterKey,
    clock,
    limits: unlimited,
  });
  const user = await vault.client("ann@example.com", undefined, 1e6);
  for (const key_name of names)
    expect((await user.call("protect", { key_name, key_value: "v" })).outcome()).toBe("200");
  await data.change(
    `INSERT INTO secret_consumers (secret_id, consumer, version, read_at, account)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
     SELECT s.id, 'prod/shop/VaultSecret/' || i, 1, ${clock.now()}.0 + i, s.owner FROM n, secrets AS s`,
    50,
  );
  const { consumers } = (await user.call("consumer_list", { key_name: names })).json();
  expect(consumers).toHaveLength(50 * SECRETS);
  const times = consumers.map(({ last_read_at }: { last_read_at: string }) => last_read_at);
  expect(times).toEqual(times.toSorted().toReversed());

  const unread: IncomingMessage[] = [];
  for (let count = 0; count < MOST_UNREAD; count += 1) unread.push(await openList(vault, user));
  expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  const further = openList(vault, user);
  // A list of one secret waits for none of another account.
  const other = await vault.client("bob@example.com", undefined, 1e6);
  await other.call("protect", { key_name: "b", key_value: "v" });
  expect((await other.call("consumer_list", { key_name: "b" })).json()).toEqual({ consumers: [] });
  // The request may be on its way yet.
  let response: IncomingMessage | undefined;
  while (response === undefined) {
    await clock.advance(10_000);
    response = await Promise.race([further, delay(50, undefined)]);
  }
  expect(response.statusCode).toBe(429);
  for (const one of [...unread, response]) one.destroy();
});
