import { setTimeout as delay } from "node:timers/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData } from "../lab/vault/vault-data.ts";

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
  const limits = { requestsPerSecond: 1e6, requestBurst: 1e6, progressTimeoutMs: 1e9 };
  const masterKey = generateMasterKey();
  await using vault = await TestVault.start({ data: data.location, masterKey, clock, limits });
  const ann = await vault.client("ann@example.com", undefined, 1e6);
  for (const key_name of names)
    expect((await ann.call("protect", { key_name, key_value: "v" })).outcome()).toBe("200");
  await data.change(
    `INSERT INTO secret_consumers (secret_id, consumer, version, read_at, account)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
     SELECT s.id, 'prod/shop/VaultSecret/' || i, 1, ${clock.now()}.0 + i, s.owner FROM n, secrets AS s`,
    50,
  );
  const { consumers } = (await ann.call("consumer_list", { key_name: names })).json();
  expect(consumers).toHaveLength(50 * SECRETS);
  const times = consumers.map(({ last_read_at }: { last_read_at: string }) => last_read_at);
  expect(times).toEqual(times.toSorted().toReversed());

  const unread: IncomingMessage[] = [];
  for (let count = 0; count < MOST_UNREAD; count += 1) unread.push(await openList(vault, ann));
  expect(unread.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
  const further = openList(vault, ann);
  // A list of one secret waits for none of another account.
  const bob = await vault.client("bob@example.com", undefined, 1e6);
  await bob.call("protect", { key_name: "b", key_value: "v" });
  expect((await bob.call("consumer_list", { key_name: "b" })).json()).toEqual({ consumers: [] });
  // The request may be on its way yet.
  let response: IncomingMessage | undefined;
  while (response === undefined) {
    await clock.advance(10_000);
    response = await Promise.race([further, delay(50, undefined)]);
  }
  expect(response.statusCode).toBe(429);
  for (const one of [...unread, response]) one.destroy();
});
