import { request as httpRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { afterAll, beforeAll, expect, test } from "vitest";
import { insertSecrets } from "../lab/vault/insert-secrets.ts";
import { StoreLocation } from "../lab/vault/store-location.ts";
import { VaultServerProcess } from "../lab/real/processes/vault-server-process.ts";
import { sendRequest, type VaultClient } from "../lab/vault/vault-client.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";

const COUNT = 100_000;
const MIB = 1024 * 1024;
const email = "ann@example.com";
let place: StoreLocation;
let vault: VaultServerProcess;
let ann: VaultClient;

beforeAll(async () => {
  place = await StoreLocation.create("sqlite");
  vault = await VaultServerProcess.start([
    "--dev",
    "--dev-users",
    email,
    "--quotas",
    `secrets=${COUNT + 1}`,
    ...place.args,
  ]);
  insertSecrets(place.data, email, COUNT, Date.now());
  ann = await vault.client(email);
}, 60_000);
afterAll(async () => {
  await vault[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

/** Requests the list and returns the response before its body is read. */
async function openResponse(): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  const request = httpRequest(vault.url + operationPath.list_no_dup, {
    method: "POST",
    agent: false,
    headers: { "content-type": "application/json", authorization: ann.token },
  });
  request.end(JSON.stringify({ email }));
  const response = await new Promise<IncomingMessage>((resolve) =>
    request.once("response", resolve),
  );
  return { request, response };
}

async function health(): Promise<number> {
  return (await sendRequest(`${vault.url}/healthz`, { method: "GET" })).status;
}

async function settle(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await ann.call("list_file");
}

test("a list of 100,000 secrets is complete and ordered, also compressed, and 304 if unchanged", async () => {
  const list = await ann.call("list_no_dup");
  const names = list.json().secrets.map((secret: { key_name: string }) => secret.key_name);
  expect(names).toEqual(
    Array.from({ length: COUNT }, (_, index) => `listed-${String(index).padStart(6, "0")}`),
  );
  const compressed = await ann.call("list_no_dup", {}, { "accept-encoding": "gzip" });
  expect(compressed.headers["content-encoding"]).toBe("gzip");
  expect(compressed.bytes.length < list.bytes.length / 10).toBe(true);
  const again = await ann.call("list_no_dup", {}, { "if-none-match": list.headers.etag });
  expect(again.status).toBe(304);
  expect(again.bytes.length).toBe(0);
});

test("other requests are served while a long list is sent", async () => {
  const list = ann.call("list_no_dup").then(() => "listed");
  let served = 0;
  while ((await Promise.race([list, health()])) === 200) served += 1;
  expect(await list).toBe("listed");
  expect(served).toBeGreaterThan(10);
});

test("a client that stops reading a long list blocks no writer and uses no server memory", async () => {
  await ann.call("list_no_dup");
  await vault.resetPeakMemory();
  const before = await vault.peakMemory();
  const { request, response } = await openResponse();
  const stalled = await Promise.all(Array.from({ length: 4 }, () => openResponse()));
  for (let version = 1; version <= 20; version += 1) {
    const written = await ann.call("protect", { key_name: "written meanwhile", key_value: "v" });
    expect(written.json().secret.key_version).toBe(version);
  }
  expect((await vault.peakMemory()) - before).toBeLessThan(120 * MIB);
  for (const each of stalled) each.request.destroy();
  response.resume();
  await once(response, "end");
  expect(response.complete).toBe(true);
  request.destroy();
});

test("aborted lists do not leak memory", async () => {
  for (let round = 0; round < 5; round += 1) (await openResponse()).request.destroy();
  await settle();
  await vault.resetPeakMemory();
  const before = await vault.peakMemory();
  for (let round = 0; round < 30; round += 1) (await openResponse()).request.destroy();
  await settle();
  // A leaked list would keep 9 MiB of ids.
  expect((await vault.peakMemory()) - before).toBeLessThan(200 * MIB);
});
