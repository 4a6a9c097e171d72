import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { VaultServerProcess } from "../lab/real/processes/vault-server-process.ts";
import { insertSecrets } from "../lab/vault/insert-secrets.ts";
import { StoreLocation } from "../lab/vault/store-location.ts";
import { sendRequest, type VaultClient } from "../lab/vault/vault-client.ts";

/** Heap of the process in a container of 512 MiB, in MiB. */
const HEAP_MIB = 256;
const COUNT = 4_000;
const DESCRIPTION_LENGTH = 1_200;
const UNREAD = 500;
const WAITING = 100;
const [owner, other] = ["ann@example.com", "bob@example.com"];
let place: StoreLocation;
let vault: VaultServerProcess;
let ann: VaultClient;
let bob: VaultClient;

beforeAll(async () => {
  place = await StoreLocation.create("sqlite");
  const args = ["--dev", "--dev-users", `${owner},${other}`, ...place.args];
  vault = await VaultServerProcess.start(args, { nodeArgs: [`--max-old-space-size=${HEAP_MIB}`] });
  insertSecrets(place.data, owner, COUNT, Date.now());
  using database = new DatabaseSync(place.data, { timeout: 30_000 });
  database
    .prepare("UPDATE secret_versions SET metadata = json_set(metadata, '$.description', ?)")
    .run("x".repeat(DESCRIPTION_LENGTH));
  [ann, bob] = [await vault.client(owner), await vault.client(other)];
});
afterAll(async () => {
  await vault[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

/**
 * Sends a list request and resolves with its response, unread, or `undefined` when the connection
 * is closed before.
 */
function open(
  headers: Record<string, string> = {},
  { token } = ann,
): { request: ClientRequest; response: Promise<IncomingMessage | undefined> } {
  const request = httpRequest(vault.url + operationPath.list_no_dup, {
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", authorization: token, ...headers },
  });
  const { promise: response, resolve } = Promise.withResolvers<IncomingMessage | undefined>();
  request.on("response", resolve).on("error", () => resolve(undefined));
  request.end(JSON.stringify({ email: owner }));
  return { request, response };
}

async function metric(name: string): Promise<number> {
  const text = (
    await sendRequest(`${vault.metricsUrl}/metrics`, { method: "GET" })
  ).bytes.toString();
  return Number(new RegExp(`^${name} ([0-9]+)`, "mu").exec(text)?.[1] ?? 0);
}

test("500 unread lists of one account leave a server of the shipped size to others", async () => {
  const opened = Array.from({ length: UNREAD }, () => open());
  await Promise.race([
    Promise.all(opened.map(({ response }) => response)),
    delay(15_000),
    vault.result,
  ]);
  expect(vault.exited).toBe(false);
  expect((await bob.call("protect", { key_name: "served", key_value: "v" })).outcome()).toBe("200");
  expect((await bob.call("list_no_dup")).json().secrets).toHaveLength(1);
  expect(await metric("vaultsync_vault_open_list_bytes")).toBeLessThan(64 * 1024 ** 2);
  for (const { request } of opened) request.destroy();
});

test("100 waiting clients of one account that a change wakes all get the new list", async () => {
  const etag = (await ann.call("list_no_dup")).headers.etag ?? "";
  // One login has at most 50 waits.
  const logins = [ann, await vault.client(owner)];
  const opened = Array.from({ length: WAITING }, (_, index) =>
    open({ "if-none-match": etag, prefer: "wait=55" }, logins[index % logins.length]),
  );
  await expect.poll(() => metric("vaultsync_vault_waiting_lists")).toBe(WAITING);
  await ann.call("protect", { key_name: "changed", key_value: "v" });
  const read = await Promise.all(
    opened.map(async ({ response }) => {
      const each = await response;
      let length = 0;
      if (each) for await (const chunk of each) length += (chunk as Buffer).length;
      return [each?.statusCode, length];
    }),
  );
  const [[status, length] = []] = read;
  expect(vault.exited).toBe(false);
  expect(status).toBe(200);
  expect(Number(length) > COUNT * DESCRIPTION_LENGTH).toBe(true);
  expect(new Set(read.map(String))).toEqual(new Set([`200,${length}`]));
});
