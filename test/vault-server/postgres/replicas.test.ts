import { expect, test } from "vitest";
import { operationPath } from "../../../src/protocol/operation-paths.ts";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { PostgresDatabase } from "../../lab/postgres/postgres-database.ts";
import { Replicas } from "../../lab/vault/replicas.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import type { VaultResponse } from "../../lab/vault/vault-client.ts";
import { VirtualClock } from "../../lab/clock/virtual-clock.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";

const outcomes = (responses: readonly VaultResponse[]): string[] =>
  responses.map((response) => response.outcome());
const fail = (vault: TestVault): Promise<VaultResponse> =>
  vault.logIn("ann@example.com", { password: "wrong" });
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

test("concurrent writes through two replicas number versions 1 to n without duplicates", async () => {
  await using replicas = await Replicas.start();
  const callers = await replicas.client("ann@example.com");
  const responses = await Promise.all(
    upTo(40).map((n) => callers[n % 2]!.call("protect", { key_name: "a", key_value: `v${n}` })),
  );
  expect(new Set(outcomes(responses))).toEqual(new Set(["200"]));
  const numbers = responses
    .map((response): number => response.json().secret.key_version)
    .toSorted((a, b) => a - b);
  expect(numbers).toEqual(upTo(40));
  for (const [index, response] of responses.entries()) {
    const version = response.json().secret.key_version;
    const exposed = await callers[index % 2]!.call("version_expose", {
      key_name: "a",
      key_version: version,
    });
    expect(exposed.json().key_value).toBe(`v${index + 1}`);
  }
});

test("secrets, teams and files of one name created through two replicas exist once", async () => {
  await using replicas = await Replicas.start();
  const callers = await replicas.client("ann@example.com");
  const names = upTo(5).flatMap((n) => [`a${n}`, `a${n}`]);
  const secrets = await Promise.all(
    names.map((name, n) => callers[n % 2]!.call("protect", { key_name: name, key_value: "x" })),
  );
  const versions = secrets.map((response): number => response.json().secret.key_version);
  expect(versions.toSorted((a, b) => a - b)).toEqual(names.map((_, n) => (n < 5 ? 1 : 2)));
  expect((await callers[0].call("list_no_dup")).json().secrets).toHaveLength(5);
  const teams = await Promise.all(
    names.map((name, n) => callers[n % 2]!.call("team_create", { group_id: name, members: [] })),
  );
  expect(outcomes(teams).toSorted()).toEqual(
    names.map((_, n) => (n < 5 ? "200" : "409 team_exists")),
  );
  const files = await Promise.all(
    upTo(20).map((n) => callers[n % 2]!.upload([{ filename: "f", bytes: Buffer.from(`${n}`) }])),
  );
  expect(
    files.map((response): number => response.json().files[0].version).toSorted((a, b) => a - b),
  ).toEqual(upTo(20));
});

test("tokens and refreshes work at both replicas, and so do logouts", async () => {
  await using replicas = await Replicas.start();
  const pair = (await replicas.one.logIn("ann@example.com")).json();
  const refresh = { refresh_token: pair.refresh_token, used_access_token: pair.access_token };
  const renewed = await replicas.two.post(operationPath.refresh_token, refresh);
  expect(renewed.status).toBe(200);
  const authorization: string = renewed.json().access_token;
  const list = (vault: TestVault) =>
    vault.post(operationPath.list_no_dup, { email: "ann@example.com" }, { authorization });
  expect((await list(replicas.one)).outcome()).toBe("200");
  expect((await list(replicas.two)).outcome()).toBe("200");
});

test("shares and deletions through one replica apply to the other immediately", async () => {
  await using replicas = await Replicas.start();
  const [annOne, annTwo] = await replicas.client("ann@example.com");
  const [bobOne, bobTwo] = await replicas.client("bob@example.com");
  await annOne.call("protect", { key_name: "a", key_value: "v" });
  const grant = {
    usr_id_from: "ann@example.com",
    key_name: "a",
    usr_id_to: "bob@example.com",
    permission: "R",
  };
  expect((await annOne.call("share", grant)).outcome()).toBe("200");
  expect((await bobTwo.call("expose_link", { key_name: "a" })).json().key_value).toBe("v");
  expect(
    (await annTwo.call("unshare", { key_name: "a", usr_id_to: "bob@example.com" })).outcome(),
  ).toBe("200");
  expect((await bobOne.call("expose_link", { key_name: "a" })).outcome()).toBe(
    "404 secret_not_found",
  );
  await annTwo.call("delete", { key_name: "a" });
  expect((await annOne.call("expose", { key_name: "a" })).outcome()).toBe("404 secret_not_found");
});

test("failed logins are counted across replicas and reset by a success at either", async () => {
  const clock = new VirtualClock();
  await using replicas = await Replicas.start({ clock });
  for (const vault of [replicas.one, replicas.two, replicas.one, replicas.two, replicas.one]) {
    expect((await fail(vault)).outcome()).toBe("401 invalid_credentials");
  }
  expect((await replicas.logInAtTwo("ann@example.com")).outcome()).toBe("429 rate_limited");
  await clock.advance(1000);
  expect((await replicas.logInAtTwo("ann@example.com")).outcome()).toBe("200");
  expect((await fail(replicas.one)).outcome()).toBe("401 invalid_credentials");
});

test("a deadline applies to both replicas, and one sweeper removes the secret", async () => {
  const clock = new VirtualClock();
  await using replicas = await Replicas.start({ clock });
  const [one, two] = await replicas.client("ann@example.com", 1000);
  await one.call("protect", { key_name: "a", key_value: "v", delete_time: 1 });
  await clock.advance(59_999);
  expect((await two.call("expose", { key_name: "a" })).outcome()).toBe("200");
  await clock.advance(1);
  for (const caller of [one, two])
    expect((await caller.call("expose", { key_name: "a" })).outcome()).toBe("404 secret_not_found");
  const removed = async () => {
    await clock.advance(10_000);
    const counts = [replicas.one, replicas.two].map((vault) =>
      vault.metric("vaultsync_vault_secrets_removed_total"),
    );
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  };
  await waitUntil("a sweep", async () => (await removed()) > 0);
  expect(await removed()).toBe(1);
  expect((await replicas.database.run("SELECT 1 FROM secret_versions")).rows).toEqual([]);
});

test("a replica with another master key is rejected", async () => {
  await using replicas = await Replicas.start();
  const other = TestVault.start({
    data: replicas.database.url,
    masterKey: generateMasterKey(),
    dev: { users: [] },
  });
  await expect(other).rejects.toThrow("another master key");
});

test("replicas that start concurrently on an empty database create the tables once", async () => {
  await using database = await PostgresDatabase.create({ empty: true });
  const masterKey = generateMasterKey();
  const starts = upTo(4).map(() =>
    TestVault.start({ data: database.url, masterKey, dev: { users: [] } }),
  );
  const vaults = await Promise.all(starts);
  for (const vault of vaults) await vault[Symbol.asyncDispose]();
  expect((await database.run("SELECT count(*)::int AS count FROM schema_version")).rows).toEqual([
    { count: 1 },
  ]);
});

test("a database of a newer release or without UTF-8 is rejected", async () => {
  await using database = await PostgresDatabase.create();
  await database.run("UPDATE schema_version SET version = 999");
  await expect(openPostgresStore(database.url)).rejects.toThrow("newer release");
  await database.run(
    "CREATE DATABASE vaultsync_latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'",
  );
  const latin = new URL(database.url);
  latin.pathname = "/vaultsync_latin";
  try {
    await expect(openPostgresStore(latin.href)).rejects.toThrow("ENCODING 'UTF8'");
  } finally {
    await database.run("DROP DATABASE vaultsync_latin WITH (FORCE)");
  }
});

test("every connection can use a table that another replica's migration has changed", async () => {
  await using database = await PostgresDatabase.create();
  await using store = await openPostgresStore(database.url);
  const user = { email: "ann@example.com", passwordHash: "hash" };
  await store.write(({ users }) => users.insert(user, 1));
  const find = () =>
    Promise.all(upTo(10).map(() => store.read(({ users }) => users.find(user.email))));
  await find();
  await database.run("ALTER TABLE users ADD COLUMN of_a_later_release text");
  expect(await find()).toEqual(upTo(10).map(() => ({ ...user, disabled: false })));
  await store.write(({ users }) => users.setPasswordHash({ ...user, passwordHash: "other" }));
});
