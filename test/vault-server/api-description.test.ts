import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { schemaCompiler, type Matcher } from "../lab/assertions/json-schema.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { IdentityVault } from "../lab/vault/identity-vault.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest, type VaultClient, type VaultResponse } from "../lab/vault/vault-client.ts";
import { openApiDocument, type OpenApiDocument } from "../../src/protocol/openapi/document.ts";
import { operations } from "../../src/protocol/operations.ts";
import { operationPath, type Operation } from "../../src/protocol/operation-paths.ts";
import { devLimits } from "../../src/vault/server/limits.ts";

const directory = new TestDirectory();

let vault: TestVault;
let ann: VaultClient;
let bob: VaultClient;
let document: OpenApiDocument;
let compile: (schema: object) => Matcher;
beforeAll(async () => {
  vault = await TestVault.start({ trashDays: 30 });
  ann = await vault.client("ann@example.com");
  bob = await vault.client("bob@example.com");
  document = (await get("/v1/openapi.json")).json();
  compile = await schemaCompiler(document);
});
afterAll(() => vault[Symbol.asyncDispose]());

const get = (path: string, headers = {}) =>
  sendRequest(vault.url + path, { method: "GET", headers });

test("the document is served without a token, with version and limits, and cacheable", async () => {
  const response = await get("/v1/openapi.json");
  const { version } = JSON.parse(
    await readFile(new URL("../../package.json", import.meta.url), "utf8"),
  );
  expect(response.status).toBe(200);
  expect(response.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(response.json()).toEqual(JSON.parse(JSON.stringify(openApiDocument(version, devLimits))));
  const etag = response.headers.etag ?? "";
  expect(etag).toMatch(/^W\/"[\w-]+"$/u);
  const again = await get("/v1/openapi.json", { "if-none-match": etag });
  expect(again.status).toBe(304);
  expect(again.bytes.length).toBe(0);
});

test("the document allows GET and HEAD only and contains no credentials", async () => {
  const rejected = await sendRequest(vault.url + "/v1/openapi.json", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  expect(rejected.status).toBe(405);
  expect(rejected.code()).toBe("method_not_allowed");
  expect(rejected.headers.allow).toBe("GET, HEAD");
  const text = (await get("/v1/openapi.json")).bytes.toString();
  for (const secret of [...vault.passwords.values(), ann.token]) expect(text).not.toContain(secret);
});

test("/api redirects to the document", async () => {
  const redirect = await get("/api");
  expect(redirect.status).toBe(302);
  expect(redirect.headers.location).toBe("/v1/openapi.json");
});

/** Members that no schema names: parsing leaves them out. */
function isWhole(operation: Operation, body: object): boolean {
  return (
    operation === "download_file" ||
    isDeepStrictEqual(operations[operation].response.parse(body), body)
  );
}

/** Returns the differences between a response and the document: status, headers, type, body. */
function faultsOf(operation: Operation, response: VaultResponse): string[] {
  const documentedResponse =
    document.paths[operationPath[operation]]?.post.responses[response.status];
  if (!documentedResponse) return [`${response.status} is not documented`];
  const faults = Object.keys(documentedResponse.headers ?? {}).flatMap((name) =>
    response.headers[name] === undefined && document.components.headers[name]?.required === true
      ? [`no ${name}`]
      : [],
  );
  const type = response.headers["content-type"]?.split(";", 1).join();
  const [[documented, media] = [undefined, undefined]] = Object.entries(
    documentedResponse.content ?? {},
  );
  if (type !== documented) return [...faults, `its type is ${type}`];
  if (media && type === "application/json") {
    if (!compile(media.schema)(response.json())) faults.push("its body does not fit");
    if (response.status === 200 && !isWhole(operation, response.json()))
      faults.push("its body holds more");
  }
  return faults;
}

test("successful and error responses of each operation match the document", async () => {
  const seen = new Set<Operation>();
  const check = (operation: Operation, response: VaultResponse, status = 200): VaultResponse => {
    expect(response.status, operation).toEqual(status);
    expect(faultsOf(operation, response), operation).toEqual([]);
    if (status === 200) seen.add(operation);
    return response;
  };
  const call = async (caller: VaultClient, operation: Operation, body: object = {}, status = 200) =>
    check(operation, await caller.call(operation, body), status);

  const tokens = check("generate_access_token", await vault.logIn("ann@example.com")).json();
  check("generate_access_token", await vault.logIn("ann@example.com", { scope: "x" }), 400);
  check("generate_access_token", await vault.logIn("ann@example.com", { password: "wrong" }), 401);
  check("generate_access_token", await vault.logIn("ann@example.com", { hours: 10 ** 10 }));
  {
    await using trusting = await IdentityVault.start(directory);
    await trusting.add("system:serviceaccount:shop:vaultsync", "ann@example.com");
    const body = {
      email: "ann@example.com",
      identity_token: await trusting.issuer.token("system:serviceaccount:shop:vaultsync", {
        now: systemClock.now(),
      }),
      expiration_hours: 24,
    };
    const path = operationPath.exchange_identity_token;
    const exchange = (more = {}) => trusting.vault.post(path, { ...body, ...more });
    check("exchange_identity_token", await exchange());
    check("exchange_identity_token", await exchange({ scope: "x" }), 400);
    check("exchange_identity_token", await exchange({ identity_token: "x" }), 401);
    check("exchange_identity_token", await vault.post(path, body), 404);
  }
  const pair = { refresh_token: tokens.refresh_token, used_access_token: tokens.access_token };
  check("refresh_token", await vault.post(operationPath.refresh_token, pair));
  check(
    "refresh_token",
    await vault.post(operationPath.refresh_token, { ...pair, refresh_token: "x" }),
    401,
  );

  const [own] = (await call(ann, "token_list")).json().tokens;
  await call(ann, "token_revoke", { id: "unknown" }, 404);
  await vault.logIn("ann@example.com");
  const ids: { id: string; current: boolean }[] = (await call(ann, "token_list")).json().tokens;
  await call(ann, "token_revoke", {
    id: ids.find(({ id, current }) => id !== own.id && !current)?.id,
  });
  for (const operation of ["block_sender", "unblock_sender"] as const)
    await call(ann, operation, { usr_id_from: bob.email });
  await call(ann, "blocked_senders");

  for (const delete_time of [undefined, 5_000_000_000, 10 ** 12]) {
    await call(ann, "protect", {
      key_name: "a",
      key_value: "v",
      metadata: { custom: [null] },
      delete_time,
    });
    await call(ann, "list_no_dup");
  }
  await call(ann, "protect", { key_name: "", key_value: "v" }, 400);
  await call(ann, "expose", { key_name: "a" });
  await call(ann, "expose", { key_name: "nowhere" }, 404);
  await call(ann, "version_list", { key_name: "a" });
  await call(ann, "version_expose", { key_name: "a", key_version: 1 });
  await call(ann, "version_delete", { key_name: "a", key_version: 1 });
  await call(ann, "update_key_metadata", {
    key_name: "a",
    key_version: 2,
    metadata: { expiration_time: 10 ** 12 },
  });
  await call(ann, "team_create", { group_id: "t", members: bob.email });
  await call(ann, "team_create", { group_id: "t" }, 409);
  await call(ann, "team_add_members", { group_id: "t", members: ["eve@example.com"] });
  await call(ann, "team_remove_members", { group_id: "t", members: ["eve@example.com"] });
  await call(ann, "team_list");
  await call(ann, "share", {
    key_name: "a",
    permission: "RW",
    usr_id_from: ann.email,
    group_id_to: "t",
  });
  await call(
    ann,
    "share",
    { key_name: "a", permission: "RW", usr_id_from: bob.email, group_id_to: "t" },
    403,
  );
  await call(ann, "expose", { key_name: "a" }, 409);
  await call(bob, "expose_link", { key_name: "a" });
  await call(bob, "protect_link", { key_name: "a", key_value: "w" });
  await call(bob, "protect_link", { key_name: "a", key_value: "w", without_list: 1 });
  await call(bob, "version_list_for_link", { key_name: "a" });
  await call(ann, "share_list", { key_name: "a" });
  await call(bob, "share_list", { key_name: "a" }, 403);
  await call(bob, "version_expose_link", { key_name: "a", key_version: 2 });
  await call(ann, "consumer_list", { key_name: "a" });
  await call(bob, "consumer_list", { key_name: "a" }, 403);
  await call(bob, "delete_shared_key_link", { key_name: "a" });
  await call(ann, "unshare", { key_name: "a" });
  await call(bob, "team_leave", { group_id: "t" });
  await call(bob, "team_leave", { group_id: "t" }, 404);
  await call(ann, "team_delete", { group_id: "t" });
  await call(ann, "rename", { key_name: "a", new_name: "b" });
  await call(ann, "rename", { key_name: "a", new_name: "b" }, 404);
  await call(ann, "protect", { key_name: "a", key_value: "x" });
  await call(ann, "rename", { key_name: "a", new_name: "b" }, 409);
  const removed = (await call(ann, "delete", { key_name: ["a", "b"] })).json().trash;
  const [a, b] = removed.map(({ id }: { id: string }) => id);

  check("protect_file", await ann.upload([{ filename: "f", bytes: Buffer.from("one") }]));
  check("protect_file", await ann.upload([], { countoffiles: "0" }), 400);
  await call(ann, "list_file");
  await call(ann, "download_file", { filename: "f" });
  const { trash } = (await call(ann, "delete_file", { filename: "f" })).json();
  await call(ann, "delete_all_files");
  await call(ann, "trash_list");
  await call(ann, "trash_restore", { id: [a, trash[0].id] });
  await call(ann, "trash_restore", { id: a }, 404);
  await call(ann, "trash_restore", { id: b, name: "a" }, 409);
  await call(ann, "trash_restore", { id: [a, b], name: "c" }, 400);
  await call(ann, "trash_delete", { id: b });
  await call(ann, "trash_delete", { id: b }, 404);
  await call(ann, "trash_empty");
  for (const operation of ["list_file", "team_list", "list_no_dup"] as const) {
    check(operation, await ann.call(operation, {}, { "if-none-match": "*" }), 304);
    check(operation, await ann.call(operation, {}, { authorization: "x" }), 401);
    check(operation, await ann.call(operation, { email: bob.email }), 403);
    check(operation, await ann.call(operation, {}, { "content-type": "text/plain" }), 415);
    check(operation, await ann.call(operation, { pad: "x".repeat(2 ** 21) }), 413);
  }
  expect([...seen].sort()).toEqual(Object.keys(operationPath).sort());
});
