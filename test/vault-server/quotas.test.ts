import { request } from "node:http";
import { beforeEach, expect, test } from "vitest";
import { defaultQuotas, type Quotas } from "../../src/vault/server/limits.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { multipartBody, VaultClient } from "../lab/vault/vault-client.ts";

/** Changed by each test: the limits of the server refer to it. */
const quotas: { -readonly [Name in keyof Quotas]: number } = { ...defaultQuotas, uploads: 2 };
const { vault, ann, bob, cid } = await useVault({ limits: { quotas }, more: ["dan@example.com"] });
const exceeded = "403 quota_exceeded";
let name: string;
let number = 0;

beforeEach(async () => {
  Object.assign(quotas, { ...defaultQuotas, uploads: 2 });
  name = `quota-${(number += 1)}`;
  for (const client of [ann, bob]) {
    const { secrets } = (await client.call("list_no_dup")).json();
    const own = secrets.filter(({ owner }: { owner: string }) => owner === client.email);
    for (const { key_name } of own) await client.call("delete", { key_name });
    await client.call("delete_all_files");
  }
});

const protect = (key_name: string, key_value = "v", more: object = {}) =>
  ann.call("protect", { key_name, key_value, ...more }).then((response) => response.outcome());
const upload = (filename: string, bytes: number, client = ann) =>
  client
    .upload([{ filename, bytes: Buffer.alloc(bytes, 1) }])
    .then((response) => response.outcome());
const rejections = (quota: string) =>
  vault.metric(`vaultsync_vault_quota_rejections_total{quota="${quota}"}`);

test("secrets: further ones are rejected and counted, versions and deletions are not", async () => {
  quotas.secrets = 2;
  const before = await rejections("secrets");
  expect(await protect("a")).toBe("200");
  expect(await protect("b")).toBe("200");
  expect(await protect("c")).toEqual(exceeded);
  expect((await ann.call("expose", { key_name: "c" })).outcome()).toBe("404 secret_not_found");
  expect(await protect("a", "again")).toBe("200");
  await ann.call("delete", { key_name: "b" });
  expect(await protect("c")).toBe("200");
  expect(await rejections("secrets")).toBe(before + 1);
});

test("concurrent requests do not exceed a quota together", async () => {
  quotas.secrets = 5;
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, index) => protect(`parallel-${index}`)),
  );
  expect(outcomes.filter((outcome) => outcome === "200").length).toBe(5);
  expect(outcomes.filter((outcome) => outcome === exceeded).length).toBe(15);
  expect((await ann.call("list_no_dup")).json().secrets.length).toBe(5);
});

test("versions of a secret and of an account, files included", async () => {
  quotas.secret_versions = 2;
  expect(await protect(name)).toBe("200");
  expect(await protect(name)).toBe("200");
  expect(await protect(name)).toEqual(exceeded);
  await ann.call("version_delete", { key_name: name, key_version: 1 });
  expect(await protect(name)).toBe("200");
  expect(await protect(name)).toEqual(exceeded);
  quotas.versions = 3;
  expect(await upload("f", 1)).toBe("200");
  expect(await upload("f", 1)).toEqual(exceeded);
  expect(await protect("other")).toEqual(exceeded);
  await ann.call("delete_file", { filename: "f" });
  expect(await protect("other")).toBe("200");
});

test("versions of a file", async () => {
  quotas.file_versions = 2;
  expect(await upload("f", 1)).toBe("200");
  expect(await upload("f", 1)).toBe("200");
  expect(await upload("f", 1)).toEqual(exceeded);
  expect(await upload("g", 1)).toBe("200");
  await ann.call("delete_file", { filename: "f", version: 1 });
  expect(await upload("f", 1)).toBe("200");
  expect(await upload("f", 1)).toEqual(exceeded);
});

test("bytes: values, metadata and files count, and are subtracted when they are deleted", async () => {
  quotas.bytes = 20_000;
  expect(await protect("a", "x".repeat(9000))).toBe("200");
  expect(await protect("a", "x".repeat(9000))).toBe("200");
  expect(await protect("b", "x".repeat(2000))).toEqual(exceeded);
  expect(await upload("f", 2000)).toEqual(exceeded);
  const metadata = { note: "y".repeat(5000) };
  const change = (changed: object) =>
    ann.call("update_key_metadata", { key_name: "a", key_version: 1, metadata: changed });
  expect((await change(metadata)).outcome()).toBe(exceeded);
  await ann.call("version_delete", { key_name: "a", key_version: 2 });
  expect((await change(metadata)).outcome()).toBe("200");
  expect(await upload("f", 4000)).toBe("200");
  expect(await upload("g", 4000)).toBe(exceeded);
  await ann.call("delete_file", { filename: "f" });
  expect(await upload("g", 4000)).toBe("200");
  // A lowered quota admits changes that do not grow.
  quotas.bytes = 1;
  expect((await change({ note: "short" })).outcome()).toBe("200");
  expect((await ann.call("delete", { key_name: "a" })).outcome()).toBe("200");
});

test("an upload beyond the quota ends before its end and leaves nothing", async () => {
  quotas.bytes = 1_000_000;
  expect(await upload("big", 20_000_000)).toBe(exceeded);
  expect((await ann.call("list_file")).json()).toEqual({ files: [] });
  expect(await upload("small", 900_000)).toBe("200");
});

test("a new version by a recipient counts for the creator", async () => {
  await protect(name);
  await ann.call("share", {
    key_name: name,
    permission: "RW",
    usr_id_from: ann.email,
    usr_id_to: bob.email,
  });
  quotas.versions = 1;
  const response = await bob.call("protect_link", { key_name: name, key_value: "v2" });
  expect(response.outcome()).toBe(exceeded);
  expect(response.bytes.toString()).toContain("the quota is 1 versions");
  expect((await bob.call("protect", { key_name: "bobs", key_value: "v" })).outcome()).toBe("200");
});

test("teams and members of a team", async () => {
  quotas.teams = 1;
  quotas.members = 2;
  const create = (group_id: string, members: string[]) =>
    cid.call("team_create", { group_id, members });
  expect((await create(`${name}-large`, [ann.email, bob.email])).outcome()).toBe(exceeded);
  expect((await create(name, [ann.email])).outcome()).toBe("200");
  expect((await create(`${name}-2`, [])).outcome()).toBe(exceeded);
  const add = (members: string[]) => cid.call("team_add_members", { group_id: name, members });
  expect((await add([bob.email])).outcome()).toEqual(exceeded);
  expect((await add([ann.email])).outcome()).toBe("200");
  expect(
    (await cid.call("team_list")).json().teams.map((team: { members: string[] }) => team.members),
  ).toEqual([[ann.email, cid.email]]);
  await cid.call("team_delete", { group_id: name });
});

test("logins with a live token are kept, further ones are rejected", async () => {
  const dan = "dan@example.com";
  quotas.tokens = 2;
  const outcomes: string[] = [];
  const tokens: string[] = [];
  for (let login = 0; login < 3; login += 1) {
    const response = await vault.logIn(dan);
    outcomes.push(response.outcome());
    if (response.status === 200) tokens.push(response.json().access_token);
  }
  expect(outcomes).toEqual(["200", "200", exceeded]);
  for (const token of tokens) {
    expect((await new VaultClient(vault.url, dan, { token }).call("list_no_dup")).status).toBe(200);
  }
});

test("a refresh token keeps its last ten access tokens", async () => {
  const first = (await vault.logIn("bob@example.com")).json();
  const access = [first.access_token];
  for (let refresh = 0; refresh < 12; refresh += 1) {
    const body = { refresh_token: first.refresh_token, used_access_token: access.at(-1) };
    access.push((await vault.post(operationPath.refresh_token, body)).json().access_token);
  }
  const statuses: number[] = [];
  for (const token of access) {
    statuses.push(
      (await new VaultClient(vault.url, bob.email, { token }).call("team_list")).status,
    );
  }
  expect(statuses).toEqual([401, 401, 401, ...Array.from({ length: 10 }, () => 200)]);
});

/** Starts an upload that ends with the stack; again while another one takes its place. */
function startUpload(open: DisposableStack): void {
  const { token, email } = ann;
  const started = request(vault.url + operationPath.protect_file, {
    method: "POST",
    headers: {
      authorization: token,
      email,
      countoffiles: "1",
      "content-type": "multipart/form-data; boundary=test-boundary",
    },
  });
  started.on("error", () => undefined);
  started.on("response", (response) => {
    response.resume();
    if (!open.disposed) startUpload(open);
  });
  started.write(multipartBody([{ filename: "open", bytes: Buffer.from("f") }]).subarray(0, -4));
  open.defer(() => started.destroy());
}

test("uploads in progress", async () => {
  {
    using open = new DisposableStack();
    for (const _ of [1, 2]) startUpload(open);
    await expect.poll(() => upload(name, 1)).toBe(exceeded);
  }
  await expect.poll(() => upload(name, 1)).toBe("200");
});

test("a login beyond the quota ends the least recently used ones without a live token", async () => {
  const clock = new VirtualClock();
  const email = "ann@example.com";
  await using other = await TestVault.start({
    clock,
    limits: { quotas: { ...defaultQuotas, tokens: 2 } },
  });
  const pairs = [];
  for (let login = 0; login < 3; login += 1) {
    pairs.push((await other.logIn(email)).json());
    await clock.advance(2 * 3_600_000);
  }
  const outcomes = [];
  for (const { refresh_token, access_token } of pairs) {
    const body = { refresh_token, used_access_token: access_token };
    outcomes.push((await other.post(operationPath.refresh_token, body)).outcome());
  }
  expect(outcomes).toEqual(["401 invalid_refresh_token", "200", "200"]);
});
