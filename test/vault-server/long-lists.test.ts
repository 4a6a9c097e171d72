import { afterAll, beforeAll, expect, test } from "vitest";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import type { Operation } from "../../src/protocol/operation-paths.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest, type VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";

const COUNT = 1500;
const FILE_VERSIONS = 201;
let data: VaultData;
let vault: TestVault;
let ann: VaultClient;
let bob: VaultClient;

/**
 * Inserts `COUNT` rows in addition to the rows of the API; the values are expressions of `i`, from
 * 1.
 */
async function insertMany(into: string, values: string): Promise<void> {
  const numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)";
  await data.change(`INSERT INTO ${into} ${numbers} SELECT ${values} FROM n`, COUNT);
}

beforeAll(async () => {
  data = await createVaultData();
  const limits = { requestsPerSecond: 1e6, requestBurst: 1e6 };
  vault = await TestVault.start({ data: data.location, masterKey: generateMasterKey(), limits });
  ann = await vault.client("ann@example.com");
  bob = await vault.client("bob@example.com");
  for (const key_name of ["versions", "shares"])
    await ann.call("protect", { key_name, key_value: "v" });
  await ann.call("share", {
    key_name: "shares",
    permission: "R",
    usr_id_from: ann.email,
    usr_id_to: bob.email,
  });
  await ann.call("team_create", { group_id: "long", members: [bob.email] });
  await ann.call("team_create", { group_id: "short", members: [] });
  await ann.call("share", {
    key_name: "shares",
    permission: "W",
    usr_id_from: ann.email,
    group_id_to: "long",
  });
  const columns =
    "secret_id, version, metadata, created_at, updated_at, key_id, wrapped_key, sealed";
  const [secret] = await data.select("SELECT id FROM secrets WHERE name = 'versions'");
  const [row] = await data.select("SELECT metadata FROM secret_versions LIMIT 1");
  const values = `'${String(secret?.["id"])}', i + 1, '${String(row?.["metadata"])}', 1.7e12, 1.7e12, 'none', sealed, sealed`;
  await data.change(
    `INSERT INTO secret_versions (${columns})
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
     SELECT ${values} FROM n CROSS JOIN (SELECT sealed FROM secret_versions LIMIT 1) AS v`,
    COUNT,
  );
  await insertMany("team_members (group_id, email)", "'long', 'member-' || i || '@example.com'");
  await insertMany(
    "person_grants (secret_id, email, reads, writes)",
    "(SELECT id FROM secrets WHERE name = 'shares'), 'grantee-' || i || '@example.com', 1, 0",
  );
  for (let version = 1; version <= FILE_VERSIONS; version += 1) {
    await ann.upload([{ filename: "many", bytes: Buffer.from(String(version)) }]);
  }
  await ann.upload([{ filename: "other", bytes: Buffer.from("x") }]);
}, 60_000);
afterAll(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

async function health(): Promise<number> {
  return (await sendRequest(`${vault.url}/healthz`, { method: "GET" })).status;
}

const lists: [Operation, object, string][] = [
  ["version_list", { key_name: "versions" }, "versions"],
  ["share_list", { key_name: "shares" }, "shares"],
  ["team_list", {}, "teams"],
  ["list_file", {}, "files"],
];

test("a version list of many pages is complete and in order", async () => {
  const { key_name, versions } = (await ann.call("version_list", { key_name: "versions" })).json();
  expect(key_name).toBe("versions");
  expect(versions.map((one: { key_version: number }) => one.key_version)).toEqual(
    Array.from({ length: COUNT + 1 }, (_, index) => index + 1),
  );
});

test("a share list of many pages has all users, then the team", async () => {
  const { shares } = (await ann.call("share_list", { key_name: "shares" })).json();
  const users = [
    bob.email,
    ...Array.from({ length: COUNT }, (_, index) => `grantee-${index + 1}@example.com`),
  ].sort();
  expect(shares.map(({ to }: { to: string }) => to)).toEqual([...users, "long"]);
  expect(shares.find(({ to }: { to: string }) => to === bob.email).state).toBe("active");
  expect(shares.at(-1)).toEqual({ to: "long", kind: "team", permission: "W", state: "invited" });
});

test("a team list has all members of every team", async () => {
  const { teams } = (await ann.call("team_list")).json();
  const members = [
    ann.email,
    bob.email,
    ...Array.from({ length: COUNT }, (_, index) => `member-${index + 1}@example.com`),
  ].sort();
  expect(teams).toEqual([
    { group_id: "long", creator: ann.email, members },
    { group_id: "short", creator: ann.email, members: [ann.email] },
  ]);
});

test("a file list has all versions of every file, and repeats the latest", async () => {
  const { files } = (await ann.call("list_file")).json();
  expect(files.map(({ filename }: { filename: string }) => filename)).toEqual(["many", "other"]);
  const [{ versions, filename, ...latest }] = files;
  expect(filename).toBe("many");
  expect(versions.length).toEqual(FILE_VERSIONS);
  expect(versions.at(-1)).toEqual(latest);
  expect(versions.map(({ version }: { version: number }) => version)).toEqual(
    Array.from({ length: FILE_VERSIONS }, (_, index) => index + 1),
  );
  expect((await bob.call("list_file")).json()).toEqual({ files: [] });
});

test.each(lists)("%s has the same content when it is compressed", async (operation, body, name) => {
  const plain = await ann.call(operation, body);
  const compressed = await ann.call(operation, body, { "accept-encoding": "gzip" });
  expect(plain.json()[name].length).toBeGreaterThan(0);
  expect(compressed.headers["content-encoding"]).toBe("gzip");
  expect(compressed.headers.etag).toEqual(plain.headers.etag);
});

test.each(lists.filter(([operation]) => operation !== "share_list"))(
  "%s is 304 while it is unchanged",
  async (operation, body) => {
    const { headers } = await ann.call(operation, body);
    const again = await ann.call(operation, body, { "if-none-match": headers.etag });
    expect(again.status).toBe(304);
    expect(again.bytes.length).toBe(0);
  },
);

test("the tag of a long team list changes with a member of any team", async () => {
  const before = await ann.call("team_list");
  await ann.call("team_add_members", { group_id: "short", members: ["new@example.com"] });
  const after = await ann.call("team_list", {}, { "if-none-match": before.headers.etag });
  expect(after.status).toBe(200);
  await ann.call("team_remove_members", { group_id: "short", members: ["new@example.com"] });
  expect((await ann.call("team_list", {}, { "if-none-match": before.headers.etag })).status).toBe(
    304,
  );
});

test.each(lists.slice(0, 2))(
  "other requests are served while %s is sent",
  async (operation, body) => {
    const list = ann.call(operation, body).then(({ status }) => `list ${status}`);
    let served = 0;
    while ((await Promise.race([list, health()])) === 200) served += 1;
    expect(await list).toBe("list 200");
    expect(served).toBeGreaterThan(3);
  },
);

test("a list that is no longer permitted gets an error, also when it is long", async () => {
  expect((await bob.call("share_list", { key_name: "shares" })).outcome()).toBe("403 forbidden");
  expect((await bob.call("version_list", { key_name: "versions" })).outcome()).toBe(
    "404 secret_not_found",
  );
  expect((await ann.call("version_list_for_link", { key_name: "versions" })).outcome()).toBe(
    "409 use_unshared_operation",
  );
});

/** A character of two UTF-16 code units. */
const WIDE = "😀";
/** Versions of 60 KB of metadata: the list is sent in parts. */
const VERSIONS = 12;

test("a list that is sent in parts has the characters that were stored", async () => {
  await using server = await TestVault.start();
  const client = await server.client("ann@example.com");
  // Parts end anywhere: in half of these texts, between the units of a character.
  const stored = Array.from(
    { length: VERSIONS },
    (_, index) => "x".repeat(index % 2) + WIDE.repeat(15_000),
  );
  for (const text of stored) {
    const body = { key_name: "a", key_value: "v", metadata: { description: text } };
    expect((await client.call("protect", body)).outcome()).toBe("200");
  }
  const list = await client.call("version_list", { key_name: "a" });
  expect(list.headers["content-length"]).toBeUndefined();
  const listed = list
    .json()
    .versions.map(({ metadata }: { metadata: { description: string } }) => metadata.description);
  expect(listed.map((text: string, index: number) => text === stored[index])).toEqual(
    stored.map(() => true),
  );
});
