import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";
import type { Limits } from "../../src/vault/server/limits.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultClient } from "../lab/vault/vault-client.ts";

const [ann, bob] = ["ann@example.com", "bob@example.com"];
/** More than the socket buffers of a connection take. */
const SECRETS = 200;
const DESCRIPTION = "x".repeat(60_000);
const LIST_BYTES = SECRETS * DESCRIPTION.length;
const opened: ClientRequest[] = [];
const vaults: TestVault[] = [];
afterEach(async () => {
  for (const request of opened.splice(0)) request.destroy();
  for (const vault of vaults.splice(0)) await vault[Symbol.asyncDispose]();
});

async function start(
  limits: Partial<Limits> = {},
): Promise<{ vault: TestVault; clock: VirtualClock; caller: VaultClient }> {
  const clock = new VirtualClock();
  const vault = await TestVault.start({
    clock,
    limits: { requestBurst: 1e6, requestsPerSecond: 1, ...limits },
  });
  vaults.push(vault);
  const caller = await vault.client(ann, scopeString(), 1e6);
  return { vault, clock, caller };
}

async function fill(caller: VaultClient): Promise<void> {
  for (let index = 0; index < SECRETS; index += 1) {
    await caller.call("protect", {
      key_name: `long-${index}`,
      key_value: "v",
      metadata: { description: DESCRIPTION },
    });
  }
}

/** Requests a list and does not read its response. */
function open(
  vault: TestVault,
  { token, email }: VaultClient,
  operation: Operation,
  body: object = {},
): Promise<IncomingMessage> {
  const request = httpRequest(vault.url + operationPath[operation], {
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", authorization: token },
  });
  opened.push(request);
  request.end(JSON.stringify({ email, ...body }));
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on("response", resolve).on("error", reject);
  return promise;
}

const openBytes = (vault: TestVault): Promise<number> =>
  vault.metric("vaultsync_vault_open_list_bytes");

test("unread responses with the same list hold it once, also compressed", async () => {
  const { vault, caller } = await start({ sharedListBytes: 2 * LIST_BYTES });
  await fill(caller);
  const whole = (await caller.call("list_no_dup")).bytes.length;
  await expect.poll(() => openBytes(vault)).toBe(0);
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => open(vault, caller, "list_no_dup")),
  );
  expect(new Set(responses.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  expect(await openBytes(vault)).toBe(whole);
  const compressed = await caller.call("list_no_dup", {}, { "accept-encoding": "br, gzip" });
  expect(compressed.headers["content-encoding"]).toBe("gzip");
  expect(gunzipSync(compressed.bytes).length).toEqual(whole);
  expect(await openBytes(vault)).toBe(whole + compressed.bytes.length);
  expect((await buffer(responses[0]!)).length).toBe(whole);
});

test("a changed list is another one, and both are complete", async () => {
  const { vault, caller } = await start({ sharedListBytes: 2 * LIST_BYTES });
  await fill(caller);
  const before = await open(vault, caller, "list_no_dup");
  await caller.call("protect", { key_name: "later", key_value: "v" });
  const after = await caller.call("list_no_dup");
  expect(after.json().secrets).toHaveLength(SECRETS + 1);
  expect(JSON.parse((await buffer(before)).toString()).secrets).toHaveLength(SECRETS);
  expect(after.headers.etag).not.toBe(before.headers.etag);
  await expect.poll(() => openBytes(vault)).toBe(0);
});

test("a shared list is not served beyond a deadline of one of its secrets", async () => {
  const { vault, clock, caller } = await start({
    sharedListBytes: 2 * LIST_BYTES,
    progressTimeoutMs: 1e9,
    streamTimeoutMs: 1e9,
  });
  await fill(caller);
  await caller.call("protect", { key_name: "removed", key_value: "v", delete_time: 1 });
  await open(vault, caller, "list_no_dup");
  await clock.advance(60_000);
  const { secrets } = (await caller.call("list_no_dup")).json();
  expect(secrets.filter(({ key_name }: { key_name: string }) => key_name === "removed")).toEqual(
    [],
  );
});

test("streamed lists beyond those of an account wait, and get 429 when none was read", async () => {
  const { vault, clock, caller } = await start({
    sharedListBytes: 1_000_000,
    progressTimeoutMs: 1e9,
    streamTimeoutMs: 1e9,
  });
  await fill(caller);
  await caller.call("list_no_dup");
  await Promise.all(Array.from({ length: 4 }, () => open(vault, caller, "list_no_dup")));
  const held = await openBytes(vault);
  expect(held).toBe(4 * 2_000_000);
  const waiting = open(vault, caller, "version_list", { key_name: "long-1" });
  const other = await vault.client(bob);
  expect((await other.call("list_no_dup")).outcome()).toBe("200");
  await clock.advance(10_000);
  const rejected = await waiting;
  expect(rejected.statusCode).toBe(429);
  expect(rejected.headers["retry-after"]).toBe("10");
  expect(await openBytes(vault)).toBe(held);
  for (const request of opened.splice(0)) request.destroy();
  expect((await caller.call("list_no_dup")).json().secrets).toHaveLength(SECRETS);
});

test("members of a team and blocked senders wait for a place like lists, and get 429", async () => {
  const { vault, clock, caller } = await start({
    sharedListBytes: 1_000_000,
    progressTimeoutMs: 1e9,
    streamTimeoutMs: 1e9,
  });
  await fill(caller);
  const team = { group_id: "t", members: [bob] };
  expect((await caller.call("team_create", team)).outcome()).toBe("200");
  await caller.call("list_no_dup");
  await Promise.all(Array.from({ length: 4 }, () => open(vault, caller, "list_no_dup")));
  const short: [Operation, object][] = [
    ["team_create", { ...team, group_id: "u" }],
    ["team_add_members", team],
    ["team_remove_members", team],
    ["block_sender", { usr_id_from: bob }],
    ["unblock_sender", { usr_id_from: bob }],
    ["blocked_senders", {}],
  ];
  const held = await openBytes(vault);
  const statuses: (number | undefined)[] = [];
  for (const [operation, body] of short)
    void open(vault, caller, operation, body).then(({ statusCode }) => statuses.push(statusCode));
  // Requests that have not arrived yet wait later.
  const rejected = (): Promise<typeof statuses> => clock.advance(10_000).then(() => statuses);
  await expect.poll(rejected).toEqual(short.map(() => 429));
  expect(await openBytes(vault)).toBe(held);
  for (const request of opened.splice(0)) request.destroy();
  // A request that was rejected has changed nothing.
  expect((await caller.call("team_list")).json().teams).toMatchObject([{ members: [ann, bob] }]);
  expect((await caller.call("blocked_senders")).json()).toEqual({ blocked: [] });
});

test("unread responses with a shared list beyond those of an account wait, and get 429", async () => {
  const { vault, clock, caller } = await start({
    sharedListBytes: 2 * LIST_BYTES,
    listResponsesPerAccount: 2,
    progressTimeoutMs: 1e9,
    streamTimeoutMs: 1e9,
  });
  await fill(caller);
  await Promise.all(Array.from({ length: 2 }, () => open(vault, caller, "list_no_dup")));
  const state = { responded: false };
  const waiting = open(vault, caller, "list_no_dup").finally(() => (state.responded = true));
  const other = await vault.client(bob);
  expect((await other.call("list_no_dup")).outcome()).toBe("200");
  // A list that is short, also because it is compressed, does not wait.
  expect((await caller.call("list_no_dup", {}, { "accept-encoding": "gzip" })).status).toBe(200);
  expect(state.responded).toBe(false);
  await clock.advance(10_000);
  const { statusCode, headers } = await waiting;
  expect(statusCode).toBe(429);
  expect(headers["retry-after"]).toBe("10");
  expect(headers.etag).toBeUndefined();
  const next = open(vault, caller, "list_no_dup");
  opened[0]?.destroy();
  expect((await next).statusCode).toBe(200);
});

test("the connection of a client that does not read its list is closed", async () => {
  for (const sharedListBytes of [1_000_000, 2 * LIST_BYTES]) {
    const { vault, clock, caller } = await start({ sharedListBytes, streamTimeoutMs: 1e12 });
    await fill(caller);
    await caller.call("list_no_dup");
    const response = await open(vault, caller, "list_no_dup");
    // The server may be reading the next page at first.
    await expect.poll(() => clock.advance(20_000).then(() => openBytes(vault))).toBe(0);
    await expect(buffer(response).then(({ length }) => length)).rejects.toThrow("aborted");
  }
});

test("a list is charged by its length before its first byte", async () => {
  const { vault, caller } = await start({
    sharedListBytes: 1_000_000,
    requestBurst: 2 * SECRETS + 110,
  });
  await fill(caller);
  // 12 MB count as 46 requests.
  expect((await caller.call("list_no_dup")).outcome()).toBe("200");
  await open(vault, caller, "list_no_dup");
  let served = 0;
  while ((await caller.call("list_file")).status === 200) served += 1;
  expect(served).toBeLessThan(20);
});
