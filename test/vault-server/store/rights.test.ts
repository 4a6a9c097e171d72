import { describe, expect, test } from "vitest";
import type { Secret } from "../../../src/vault/server/store/records.ts";
import { rightNames as RIGHTS } from "../../../src/vault/server/store/tables/rotation-tables.ts";
import {
  addSecret,
  ANN,
  BOB,
  EVE,
  FAR,
  NOW,
  secretOf,
  useStore,
} from "../../lab/vault/use-store.ts";

const team = { groupId: "the team", id: "id-of-the-team" };

/** A writer of the database cannot add or change a row that decides who reads what. */
describe("the rights of a store", () => {
  const { write, read, run, damage, keys, macs } = useStore();

  /**
   * Adds a secret of Ann that Bob reads directly and writes as a member of a team, and credentials
   * of Ann.
   */
  const fill = () =>
    write(async (transaction) => {
      const { teams, grants, tokens, sessions, emailProofs, identities } = transaction;
      const secret = await addSecret(transaction, ANN, "a");
      await teams.insert({ ...team, creator: ANN, members: [ANN, BOB] });
      await grants.grant(secret, [{ kind: "person", email: BOB }], "R");
      await grants.grant(secret, [{ kind: "team", groupId: team.groupId, teamId: team.id }], "W");
      const refresh = { allowedNetworks: ["192.0.2.0/24"], endsAt: FAR };
      await tokens.insertRefresh({
        ...refresh,
        digest: "r",
        email: ANN,
        scope: "s",
        hours: 1.5,
        lastUsedAt: NOW,
      });
      const access = {
        digest: "a",
        name: "n",
        refreshDigest: "r",
        email: ANN,
        scope: "s",
        createdAt: NOW,
        issuedAt: NOW,
        issuer: "https://cluster.example.com",
        usedAt: 0,
      };
      await tokens.insertAccess({ ...access, expiresAt: FAR, allowedNetworks: ["192.0.2.0/24"] });
      const issuer = "https://cluster.example.com";
      await identities.put({ issuer, subject: "ann", email: ANN, scope: "s" }, NOW);
      await sessions.insert({
        digest: "s",
        name: "n",
        email: ANN,
        createdAt: NOW,
        expiresAt: FAR,
        usedAt: NOW,
      });
      await emailProofs.insert({ digest: "p", email: ANN, expiresAt: FAR });
    });

  /** Returns what the grants of Ann's secret give, as if it were another one. */
  const permissionOf = (email: string, as?: Secret) =>
    read(async ({ secrets, grants }) => {
      const [access] = await secrets.accessByName(email, "a", NOW);
      return (
        access && grants.authenticPermission({ ...access, secret: as ?? access.secret }, email)
      );
    });

  /** Returns what is still valid of all that. */
  const valid = async () => {
    const found = await read(async ({ users, teams, tokens, sessions, emailProofs }) => ({
      password: (await users.find(ANN))?.passwordHash,
      team: await teams.find(team.groupId),
      refresh: await tokens.findRefresh("r"),
      access: await tokens.findAccess("a"),
      session: await sessions.find("s"),
      proof: await emailProofs.find("p"),
    }));
    const names = Object.entries(found).flatMap(([name, one]) => (one === undefined ? [] : [name]));
    return [...names, await permissionOf(BOB)];
  };
  const permissions = async (as: Secret) => [
    await permissionOf(BOB, as),
    await permissionOf(EVE, as),
  ];
  const teamOf = (email: string) => read(({ teams }) => teams.find(team.groupId, email));

  const invited = () =>
    read(async ({ grants }) => [await grants.isInvited(BOB), await grants.isInvited(EVE)]);

  /** Returns all rows whose MAC is none of this master key. */
  const all = (masterKeyId: string) =>
    read(async ({ rights }) => {
      const found = [];
      for (const table of RIGHTS) {
        let page = await rights.otherThan(table, masterKeyId, undefined, 2);
        for (; page.length > 0; page = await rights.otherThan(table, masterKeyId, page.at(-1), 2))
          found.push(...page);
      }
      return found;
    });

  const ALL = ["password", "team", "refresh", "access", "session", "proof"];

  test("rows that the store has written are authentic, and stay so when they are used", async () => {
    await fill();
    await write(async ({ users, tokens, sessions }) => {
      await tokens.touchRefresh("r", NOW + 1);
      await tokens.touchAccess("a", NOW + 1);
      await sessions.update({
        digest: "s",
        name: "n",
        email: ANN,
        createdAt: NOW,
        expiresAt: FAR,
        usedAt: NOW + 1,
      });
      await users.setDisabled(ANN, true);
      await users.setPasswordHash({ email: ANN, passwordHash: "new" });
    });
    expect(await valid()).toEqual([...ALL, "RW"]);
    expect(damage()).toEqual([]);
  });

  test.each([
    ["users", "UPDATE users SET password_hash = 'x' WHERE email = 'ann@example.com'", "password"],
    [
      "users",
      "UPDATE users SET password_hash = (SELECT password_hash FROM users WHERE email = 'bob@example.com')",
      "password",
    ],
    ["teams", "UPDATE teams SET creator = 'bob@example.com'", "team"],
    ["refresh_tokens", "UPDATE refresh_tokens SET scope = 'wider'", "refresh"],
    ["refresh_tokens", "UPDATE refresh_tokens SET allowed_networks = ''", "refresh"],
    ["refresh_tokens", "UPDATE refresh_tokens SET ends_at = ends_at * 2", "refresh"],
    ["access_tokens", "UPDATE access_tokens SET allowed_networks = ''", "access"],
    ["access_tokens", "UPDATE access_tokens SET expires_at = expires_at * 2", "access"],
    ["sessions", "UPDATE sessions SET email = 'bob@example.com'", "session"],
    ["email_proofs", "UPDATE email_proofs SET email = 'bob@example.com'", "proof"],
  ])("a row of %s changed past the store is not valid: %s", async (table, sql, name) => {
    await fill();
    await run(sql);
    expect(await valid()).toEqual([...ALL.filter((other) => other !== name), "RW"]);
    expect(damage()).toMatchObject([{ table }]);
  });

  test.each([
    ["person_grants", "UPDATE person_grants SET writes = 1", "W"],
    ["person_grants", "UPDATE person_grants SET mac = ''", "W"],
    ["team_grants", "UPDATE team_grants SET reads = 1", "R"],
    ["team_members", "UPDATE team_members SET mac = (SELECT mac FROM teams)", "R"],
  ])(
    "a row of %s changed past the store grants nothing, and other rows do: %s",
    async (table, sql, permission) => {
      await fill();
      await run(sql);
      expect(await valid()).toEqual([...ALL, permission]);
      expect(damage()).toMatchObject([{ table }]);
    },
  );

  test("text that looks like another grant, in a column changed past the store, gives nothing", async () => {
    await fill();
    await run(
      `UPDATE team_grants SET mac = mac || '\u001F1 1 ' || (SELECT mac FROM person_grants)`,
    );
    expect(await permissionOf(BOB)).toBe("R");
    expect(damage().length).toBeGreaterThan(0);
  });

  test("a team is found by an address that the store has made its member, and by no other", async () => {
    await fill();
    await run(
      `INSERT INTO team_members SELECT group_id, '${EVE}', mac FROM team_members WHERE email = '${BOB}'`,
    );
    expect(await teamOf(BOB)).toMatchObject({ id: team.id, members: [ANN, BOB, EVE] });
    expect(await teamOf(EVE)).toBeUndefined();
    expect(await teamOf("none@example.com")).toBeUndefined();
    expect(damage()).toEqual([
      { table: "team_members", about: { group_id: team.groupId, email: EVE } },
    ]);
  });

  test("an address is invited by a grant or membership that the store has written, and by no other", async () => {
    await fill();
    for (const [table, columns] of [
      ["person_grants", "secret_id, reads, writes, mac"],
      ["team_members", "group_id, mac"],
    ] as const)
      await run(
        `INSERT INTO ${table} (email, ${columns}) SELECT '${EVE}', ${columns} FROM ${table} WHERE email = '${BOB}'`,
      );
    expect(await invited()).toEqual([true, false]);
    expect(new Set(damage().map(({ table }) => table))).toEqual(
      new Set(["person_grants", "team_members"]),
    );
    await run(`DELETE FROM person_grants WHERE email = '${BOB}'`);
    expect(await invited()).toEqual([true, false]);
    expect(damage().length).toBe(2);
  });

  test("a grant to another user is not valid for a user, and a repeated one replaces a damaged row", async () => {
    await fill();
    await run(
      `INSERT INTO person_grants SELECT secret_id, '${EVE}', reads, writes, mac FROM person_grants`,
    );
    expect(await permissionOf(EVE)).toBeUndefined();
    expect(damage()).toEqual([
      { table: "person_grants", about: { owner: ANN, key_name: "a", recipient: EVE } },
    ]);
    await write(({ grants }) =>
      grants.grant(secretOf(ANN, "a"), [{ kind: "person", email: EVE }], "R"),
    );
    await run(
      `INSERT INTO team_members SELECT group_id, '${EVE}', mac FROM team_members WHERE email = '${BOB}'`,
    );
    await write(({ teams }) => teams.addMembers(team, [EVE]));
    expect(await permissionOf(EVE)).toBe("RW");
    expect(damage()).toEqual([]);
  });

  test("grants that are sealed for a new owner give the same there, and damaged ones nothing", async () => {
    await fill();
    await run(
      `INSERT INTO person_grants SELECT secret_id, '${EVE}', reads, writes, mac FROM person_grants`,
    );
    const moved = { ...secretOf(ANN, "a"), owner: EVE, name: "b" };
    await write(({ grants }) => grants.sealFor(secretOf(ANN, "a"), moved));
    damage();
    expect(await permissions(moved)).toEqual(["RW", undefined]);
    expect(await permissions(secretOf(ANN, "a"))).toEqual([undefined, undefined]);
    expect(damage().length).toBeGreaterThan(0);
  });

  test("each row can be sealed again under another master key, unless it was changed meanwhile", async () => {
    await fill();
    expect(await all(keys[0].id)).toEqual([]);
    const rows = await all(keys[1].id);
    expect(new Set(rows.map(({ table }) => table))).toEqual(new Set(RIGHTS));
    expect(rows.filter(({ table, fields, mac }) => !macs.matches(table, fields, mac))).toEqual([]);
    for (const row of rows) {
      const mac = macs.of(keys[1], row.table, row.fields);
      expect(await write(({ rights }) => rights.setMac({ ...row, mac: "other" }, mac))).toBe(false);
      expect(await write(({ rights }) => rights.setMac(row, mac))).toBe(true);
    }
    expect(await all(keys[1].id)).toEqual([]);
    expect(await valid()).toEqual([...ALL, "RW"]);
    expect(damage()).toEqual([]);
  });
});
