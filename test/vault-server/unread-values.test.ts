import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const [ann, bob] = ["ann@example.com", "bob@example.com"];
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
