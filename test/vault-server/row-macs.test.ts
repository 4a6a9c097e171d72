import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TestDirectory } from "../lab/test-directory.ts";
import { auditEntries } from "../lab/vault/audit-entries.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, VaultClient, type VaultResponse } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";
import { sessionOperationPath } from "../../src/protocol/operation-paths.ts";
import { tokenDigest } from "../../src/vault/server/accounts/opaque-token.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey, MasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { IdentityManager } from "../../src/vault/server/identities/manage-identities.ts";
import { rotateMasterKey } from "../../src/vault/server/rotation/rotate-master-key.ts";
import { RowMacs } from "../../src/vault/server/store/row-macs.ts";
import type { Transaction } from "../../src/vault/server/store/store.ts";
import { openStore } from "../../src/vault/server/store/open-store.ts";
import { rightNames } from "../../src/vault/server/store/tables/rotation-tables.ts";

const [ANN, BOB, EVE] = ["ann@example.com", "bob@example.com", "eve@example.com"];
const directory = new TestDirectory();

let data: VaultData;
let vault: TestVault;
let log: string;
let [ann, bob, eve]: VaultClient[] = [];
let count = 0;
const [first, second] = [generateMasterKey(), generateMasterKey()];
beforeEach(async () => {
  count += 1;
  data = await createVaultData();
  log = directory.join(`audit-${count}.jsonl`);
  const emails = [ANN, BOB, EVE];
  vault = await TestVault.start({
    data: data.location,
    masterKey: KeyRing.of(first, second),
    auditLog: { file: log },
    emails,
  });
  [ann, bob, eve] = [await vault.client(ANN), await vault.client(BOB), await vault.client(EVE)];
  for (const key_name of ["crown", "harmless"])
    await ann.call("protect", { key_name, key_value: `value of ${key_name}` });
});
afterEach(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

const share = (key_name: string, to: object) =>
  ann!.call("share", { key_name, permission: "R", usr_id_from: ANN, invite: false, ...to });
const expose = (client: VaultClient | undefined, key_name: string) =>
  client!.call("expose_link", { key_name, owner: ANN });
const valueOf = (response: VaultResponse) =>
  response.status === 200 ? response.json().key_value : response.outcome();
const damaged = (table: string) =>
  vault.metric(`vaultsync_vault_damaged_rights_total{table="${table}"}`);
const damageLines = async () =>
  (await auditEntries(log)).filter(({ event }) => event === "damaged");
const ID = "(SELECT id FROM secrets WHERE name = 'crown')";

test("a share added by SQL gives nothing, is reported, and shares of the same owner stay", async () => {
  await share("crown", { usr_id_to: BOB });
  await data.run(
    `INSERT INTO person_grants (secret_id, email, reads, writes) VALUES (${ID}, '${EVE}', 1, 1)`,
  );
  expect(valueOf(await expose(eve, "crown"))).toBe("403 forbidden");
  expect(
    valueOf(await eve!.call("version_expose_link", { key_name: "crown", key_version: 1 })),
  ).toBe("403 forbidden");
  expect(valueOf(await eve!.call("protect_link", { key_name: "crown", key_value: "theirs" }))).toBe(
    "403 forbidden",
  );
  expect(
    valueOf(
      await eve!.call("update_key_metadata", {
        key_name: "crown",
        key_version: 1,
        metadata: { a: 1 },
      }),
    ),
  ).toBe("403 forbidden");
  expect(valueOf(await expose(bob, "crown"))).toBe("value of crown");
  expect(await damaged("person_grants")).toBe(4);
  expect(await damageLines()).toMatchObject([
    { table: "person_grants", owner: ANN, key_name: "crown", recipient: EVE },
  ]);
});

test("a share changed by SQL, or copied with its MAC from another secret or recipient, is void", async () => {
  await share("crown", { usr_id_to: BOB });
  await share("harmless", { usr_id_to: EVE });
  const columns = (await data.select("SELECT * FROM person_grants LIMIT 1")).flatMap((row) =>
    Object.keys(row),
  );
  const rest = columns.filter((name) => !["secret_id", "email"].includes(name)).join(", ");
  await data.run(`INSERT INTO person_grants (secret_id, email, ${rest})
    SELECT ${ID}, email, ${rest} FROM person_grants WHERE email = '${EVE}'`);
  expect(valueOf(await expose(eve, "crown"))).toBe("403 forbidden");
  await data.run(`DELETE FROM person_grants WHERE secret_id = ${ID} AND email = '${EVE}'`);
  await data.run(`INSERT INTO person_grants (secret_id, email, ${rest})
    SELECT secret_id, '${EVE}', ${rest} FROM person_grants WHERE email = '${BOB}'`);
  expect(valueOf(await expose(eve, "crown"))).toBe("403 forbidden");
  await data.run(`UPDATE person_grants SET writes = 1 WHERE email = '${BOB}'`);
  expect(valueOf(await bob!.call("protect_link", { key_name: "crown", key_value: "x" }))).toBe(
    "403 forbidden",
  );
  await share("crown", { usr_id_to: BOB });
  expect(valueOf(await expose(bob, "crown"))).toBe("value of crown");
});

test("a share made while a secret had another owner or name gives nothing afterwards", async () => {
  await data.run(`UPDATE secrets SET owner = '${EVE}' WHERE name = 'crown'`);
  const shared = await eve!.call("share", {
    key_name: "crown",
    permission: "R",
    usr_id_from: EVE,
    usr_id_to: BOB,
    invite: false,
  });
  expect(shared.status).toBe(200);
  await data.run(`UPDATE secrets SET owner = '${ANN}'`);
  expect(valueOf(await expose(bob, "crown"))).toBe("403 forbidden");
  const exchange = `UPDATE secrets SET name = 'x' WHERE name = 'crown'; UPDATE secrets SET name = 'crown' WHERE name = 'harmless';
    UPDATE secrets SET name = 'harmless' WHERE name = 'x'`;
  await data.run(exchange);
  await share("harmless", { usr_id_to: EVE });
  await data.run(exchange);
  expect(valueOf(await expose(eve, "crown"))).toBe("403 forbidden");
});

test("a member added to a team by SQL reads nothing of the team, and members do", async () => {
  await ann!.call("team_create", { group_id: "ops", members: [BOB] });
  await share("crown", { group_id_to: "ops" });
  await data.run(`INSERT INTO team_members (group_id, email) VALUES ('ops', '${EVE}')`);
  expect(valueOf(await expose(eve, "crown"))).toBe("403 forbidden");
  expect(valueOf(await expose(bob, "crown"))).toBe("value of crown");
  expect(await damaged("team_members")).toBe(1);
});

test("a team shared with by SQL gives its members nothing", async () => {
  await eve!.call("team_create", { group_id: "theirs", members: [] });
  await data.run(
    `INSERT INTO team_grants (secret_id, group_id, reads, writes) VALUES (${ID}, 'theirs', 1, 0)`,
  );
  expect(valueOf(await expose(eve, "crown"))).toBe("403 forbidden");
  expect(await damaged("team_grants")).toBe(1);
});

test("a creator of a team who was set by SQL cannot change the team", async () => {
  await ann!.call("team_create", { group_id: "ops", members: [EVE] });
  await data.run(`UPDATE teams SET creator = '${EVE}'`);
  expect((await eve!.call("team_add_members", { group_id: "ops", members: [BOB] })).outcome()).toBe(
    "404 team_not_found",
  );
  expect(await damaged("teams")).toBe(1);
});

test("a membership of a team that had the name meanwhile gives nothing", async () => {
  await ann!.call("team_create", { group_id: "ops", members: [BOB] });
  await share("crown", { group_id_to: "ops" });
  // The writer of the database takes the team away, lets Eve create one of the name, and exchanges
  // all but the membership.
  for (const table of ["teams", "team_members", "team_grants"])
    await data.run(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);
  await data.run("DELETE FROM teams");
  expect((await eve!.call("team_create", { group_id: "ops", members: [] })).status).toBe(200);
  const [teams] = await data.select("SELECT * FROM kept_teams");
  const values = Object.entries(teams ?? {})
    .filter(([name]) => name !== "group_id")
    .map(([name, value]) => `${name} = '${String(value)}'`);
  await data.run(`UPDATE teams SET ${values.join(", ")}`);
  await data.run(
    "INSERT INTO team_members SELECT * FROM kept_team_members; INSERT INTO team_grants SELECT * FROM kept_team_grants",
  );
  expect(valueOf(await expose(bob, "crown"))).toBe("value of crown");
  expect(valueOf(await expose(eve, "crown"))).toBe("403 forbidden");
});

test("a share with a team is rejected when a former team of its name was put back by SQL", async () => {
  await eve!.call("team_create", { group_id: "ops", members: [] });
  for (const table of ["teams", "team_members"])
    await data.run(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`);
  await eve!.call("team_delete", { group_id: "ops" });
  expect((await ann!.call("team_create", { group_id: "ops", members: [BOB] })).status).toBe(200);
  await data.run(`INSERT INTO team_members SELECT * FROM kept_team_members;
    UPDATE teams SET id = (SELECT id FROM kept_teams), creator = (SELECT creator FROM kept_teams), mac = (SELECT mac FROM kept_teams)`);
  expect((await share("crown", { group_id_to: "ops" })).outcome()).toBe("404 team_not_found");
  expect(valueOf(await expose(eve, "crown"))).toBe("404 secret_not_found");
  expect(await damaged("team_members")).toBe(1);
});

test("a password hash copied by SQL does not log in, and tokens of the account stay valid", async () => {
  await data.run(
    `UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE email = '${EVE}') WHERE email = '${ANN}'`,
  );
  const asEve = await vault.logIn(ANN, { password: vault.passwords.get(EVE) ?? "" });
  expect(asEve.outcome()).toBe("401 invalid_credentials");
  expect(await damaged("users")).toBeGreaterThan(0);
  expect(valueOf(await ann!.call("expose", { key_name: "crown" }))).toBe("value of crown");
});

test("tokens, sessions and emailed links that were added by SQL are not valid", async () => {
  const token = "a-token-of-the-writer-of-the-database";
  const digest = tokenDigest(token);
  const far = Date.now() + 1e9;
  await data.run(`
    INSERT INTO access_tokens (digest, refresh_digest, email, scope, expires_at)
      SELECT '${digest}', refresh_digest, email, scope, ${far} FROM access_tokens WHERE email = '${ANN}';
    INSERT INTO refresh_tokens (digest, email, scope, hours, last_used_at)
      SELECT '${digest}', email, scope, 1, ${far} FROM refresh_tokens WHERE email = '${ANN}';
    INSERT INTO sessions (digest, email, created_at, expires_at, used_at) VALUES ('${digest}', '${ANN}', ${far}, ${far}, ${far});
    INSERT INTO email_proofs (digest, email, expires_at) VALUES ('${digest}', '${ANN}', ${far});`);
  const forged = new VaultClient(vault.url, ANN, { token });
  expect(valueOf(await forged.call("expose", { key_name: "crown" }))).toBe("401 invalid_token");
  const refreshed = await vault.post("/v1/user/refresh_token", {
    refresh_token: token,
    used_access_token: token,
  });
  expect(refreshed.outcome()).toBe("401 invalid_refresh_token");
  const headers = { cookie: `vaultsync_session=${token}`, origin: vault.url };
  expect(
    (await vault.post("/v1/user/secret/expose", { email: ANN, key_name: "crown" }, headers)).status,
  ).toBe(401);
  const proven = await vault.post(sessionOperationPath.app_set_password, {
    token,
    password: "another-long-password",
  });
  expect(proven.outcome()).toContain("invalid_confirmation");
  for (const table of ["access_tokens", "refresh_tokens", "sessions", "email_proofs"])
    expect([table, (await damaged(table)) > 0]).toEqual([table, true]);
});

test("a rotation of the master key seals rights again, except rows that were added by SQL", async () => {
  await ann!.call("team_create", { group_id: "ops", members: [BOB] });
  await share("crown", { group_id_to: "ops" });
  await share("harmless", { usr_id_to: BOB });
  await data.run(`INSERT INTO team_members (group_id, email) VALUES ('ops', '${EVE}')`);
  await vault[Symbol.asyncDispose]();
  const { id } = new MasterKey(second);
  const keys = KeyRing.of(first, second);
  const identity = { issuer: "i", subject: "s", email: ANN, scope: scopeString() };
  {
    await using store = await openStore(data.location, new RowMacs(keys));
    await new IdentityManager(store, systemClock).add(identity);
  }
  {
    await using store = await openStore(data.location);
    const rotation = {
      store,
      keys,
      to: { kind: "known", id },
      clock: systemClock,
      progress: () => undefined,
    } as const;
    expect(await rotateMasterKey(rotation)).toMatchObject({
      damagedRights: [{ table: "team_members", key: ["ops", EVE] }],
    });
  }
  const ofOthers = await Promise.all(
    rightNames.map((table) => data.select(`SELECT mac FROM ${table} WHERE mac NOT LIKE '${id}%'`)),
  );
  expect(ofOthers.flat()).toEqual([{ mac: "" }]);
  vault = await TestVault.start({ data: data.location, masterKey: second, emails: [] });
  [bob, eve] = [bob, eve].map(
    (client) => new VaultClient(vault.url, client!.email, { token: client!.token }),
  );
  expect([valueOf(await expose(bob, "crown")), valueOf(await expose(bob, "harmless"))]).toEqual([
    "value of crown",
    "value of harmless",
  ]);
  expect(valueOf(await expose(eve, "crown"))).toBe("403 forbidden");
});

// A share that had read the former key sealed its rows with it when nothing sealed them again.
test("a rotation of the master key waits for a share in progress", async () => {
  await vault[Symbol.asyncDispose]();
  const keys = KeyRing.of(first, second);
  await using store = await openStore(data.location, new RowMacs(keys));
  const [reading, latch] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const order: string[] = [];
  const granting = async ({ settings }: Transaction): Promise<void> => {
    await settings.get("master_key");
    reading.resolve();
    await latch.promise;
    order.push("share");
  };
  const shared = store.write(granting, { account: ANN, wide: true });
  await reading.promise;
  const to = { kind: "known", id: new MasterKey(second).id } as const;
  const work = { store, keys, to, clock: systemClock, progress: () => undefined };
  const rotated = rotateMasterKey(work).then(() => order.push("rotation"));
  // Long enough for a rotation that does not wait.
  await delay(500);
  latch.resolve();
  await Promise.all([shared, rotated]);
  expect(order).toEqual(["share", "rotation"]);
});
