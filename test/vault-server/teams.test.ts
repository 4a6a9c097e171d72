import { beforeEach, describe, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultClient } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";

let team: string;
let name: string;
let freshNumber = 0;
const { vault, ann, bob, cid } = await useVault();
beforeEach(async () => {
  freshNumber += 1;
  team = `team-${freshNumber}`;
  name = `team-secret-${freshNumber}`;
  await ann.call("protect", { key_name: name, key_value: "v" });
});

const create = (members?: unknown, caller = ann, group_id: unknown = team) =>
  caller.call("team_create", { group_id, members });
const add = (members: unknown, caller = ann, group_id = team) =>
  caller.call("team_add_members", { group_id, members });
const remove = (members: unknown, caller = ann, group_id = team) =>
  caller.call("team_remove_members", { group_id, members });
const removeTeam = (caller = ann, group_id = team) => caller.call("team_delete", { group_id });
const teamsOf = async (caller: VaultClient) =>
  (await caller.call("team_list"))
    .json()
    .teams.filter((each: { group_id: string }) => each.group_id === team);
const teamNames = async (caller: VaultClient) =>
  (await caller.call("team_list")).json().teams.map((each: { group_id: string }) => each.group_id);
const shareWithTeam = (permission = "R", caller = ann, key_name = name) =>
  caller.call("share", { key_name, permission, usr_id_from: caller.email, group_id_to: team });
const reveal = async (caller: VaultClient) =>
  (await caller.call("expose_link", { key_name: name })).outcome();
const isShared = async () =>
  (await ann.call("expose", { key_name: name })).outcome() === "409 use_link_operation";

describe("teams", () => {
  test.each([
    ["no name", { group_id: undefined }],
    ["an empty name", { group_id: "" }],
    ["a control character", { group_id: "a\tb" }],
    ["257 characters", { group_id: "n".repeat(257) }],
    ["an invalid member address", { members: ["bob"] }],
    ["members that are not a list", { members: { a: 1 } }],
  ])("rejects %s", async (_what, body) => {
    const response = await ann.call("team_create", { group_id: team, ...body });
    expect(response.outcome()).toBe("400 invalid_request");
  });

  test("the creator is a member; members are canonical, distinct and in code point order", async () => {
    const response = await create([
      "cid@example.com",
      "BOB@example.com",
      "bob@example.com",
      "ann@example.com",
      "later@example.com",
    ]);
    const created = {
      group_id: team,
      creator: ann.email,
      members: [ann.email, bob.email, cid.email, "later@example.com"],
    };
    expect([response.outcome(), response.json()]).toEqual(["200", { team: created }]);
    for (const caller of [ann, bob, cid]) expect(await teamsOf(caller)).toEqual([created]);
  });

  test("a team may have no other members, or one given as a string", async () => {
    expect((await create()).json().team.members).toEqual([ann.email]);
    expect((await create([], ann, `${team} b`)).json().team.members).toEqual([ann.email]);
    expect((await create("bob@example.com", ann, `${team} c`)).json().team.members).toEqual([
      ann.email,
      bob.email,
    ]);
  });

  test("team names are unique across creators", async () => {
    await create(["bob@example.com"]);
    expect((await create([], cid)).outcome()).toBe("409 team_exists");
    expect((await create()).outcome()).toBe("409 team_exists");
    expect(await teamsOf(cid)).toEqual([]);
    expect((await teamsOf(bob))[0].creator).toBe(ann.email);
  });

  test("team_list has the caller's teams by name", async () => {
    await using other = await TestVault.start();
    const [one, two] = [
      await other.client("ann@example.com"),
      await other.client("bob@example.com"),
    ];
    expect((await one.call("team_list")).json()).toEqual({ teams: [] });
    for (const group_id of ["b", "\u{10000}", "\uffff", "a"])
      await create(["bob@example.com"], one, group_id);
    await create([], one, "ann's");
    expect(await teamNames(two)).toEqual(["a", "b", "\uffff", "\u{10000}"]);
    expect(await teamNames(one)).toEqual(["a", "ann's", "b", "\uffff", "\u{10000}"]);
  });

  test("only the creator can change a team; an unknown team is team_not_found", async () => {
    await create(["bob@example.com"]);
    for (const change of [add, remove]) {
      expect((await change("bob@example.com", bob)).outcome()).toBe("403 forbidden");
      expect((await change("bob@example.com", cid)).outcome()).toBe("404 team_not_found");
      expect((await change("bob@example.com", ann, "no such team")).outcome()).toBe(
        "404 team_not_found",
      );
      for (const members of [undefined, [], ["x"]])
        expect((await change(members)).outcome()).toBe("400 invalid_request");
    }
    expect((await removeTeam(bob)).outcome()).toBe("403 forbidden");
    expect((await removeTeam(cid)).outcome()).toBe("404 team_not_found");
    expect((await removeTeam(ann, "no such team")).outcome()).toBe("404 team_not_found");
    expect((await teamsOf(bob))[0].members).toEqual([ann.email, bob.email]);
  });

  test("adding and removing keeps the other members; the creator cannot be removed", async () => {
    await create(["bob@example.com"]);
    expect((await add(["CID@example.com", "bob@example.com"])).json().team.members).toEqual([
      ann.email,
      bob.email,
      cid.email,
    ]);
    const removed = await remove(["Bob@example.com", "nobody@example.com"]);
    expect(removed.json().team.members).toEqual([ann.email, cid.email]);
    expect((await remove(["cid@example.com", "ann@example.com"])).outcome()).toBe(
      "400 invalid_request",
    );
    expect((await teamsOf(ann))[0].members).toEqual([ann.email, cid.email]);
    expect(await teamsOf(bob)).toEqual([]);
  });

  test("a member may leave a team, but its creator may not", async () => {
    await create(["bob@example.com"]);
    const leave = (caller: VaultClient, group_id = team) => caller.call("team_leave", { group_id });
    const response = await leave(bob);
    expect([response.outcome(), response.json()]).toEqual(["200", { left: { group_id: team } }]);
    expect([await teamsOf(bob), (await teamsOf(ann))[0].members]).toEqual([[], [ann.email]]);
    for (const [caller, group_id] of [
      [bob, team],
      [cid, team],
      [cid, "no such team"],
    ] as const) {
      expect((await leave(caller, group_id)).outcome()).toBe("404 team_not_found");
    }
    expect((await leave(ann)).outcome()).toBe("403 forbidden");
    await add(["bob@example.com"]);
    const scoped = await vault.client(bob.email, scopeString({ classification: ["low"] }));
    expect((await leave(scoped)).outcome()).toBe("403 out_of_scope");
  });

  test("the name of a deleted team can be used by another user", async () => {
    await create(["bob@example.com"]);
    const response = await removeTeam();
    expect([response.outcome(), response.json()]).toEqual(["200", { deleted: { group_id: team } }]);
    expect(await teamsOf(bob)).toEqual([]);
    expect((await create([], cid)).json().team).toEqual({
      group_id: team,
      creator: cid.email,
      members: [cid.email],
    });
  });
});

describe("sharing with a team", () => {
  test("share requires an existing team and membership", async () => {
    expect((await shareWithTeam()).outcome()).toBe("404 team_not_found");
    await create([], cid);
    const foreign = await shareWithTeam();
    expect(foreign.outcome()).toBe("404 team_not_found");
    await add(["ann@example.com"], cid);
    const response = await shareWithTeam();
    expect(response.json()).toEqual({
      shared: [{ key_name: name, to: team, permission: "R", state: "active" }],
    });
    expect(await reveal(cid)).toBe("200");
  });

  test("a share is invited while a member has no valid session", async () => {
    await create(["bob@example.com"]);
    expect((await shareWithTeam()).json().shared[0].state).toBe("active");
    await add("later@example.com");
    expect((await shareWithTeam()).json().shared[0].state).toBe("invited");
  });

  test("access follows membership: joining grants it, leaving removes it, rejoining restores it", async () => {
    await create(["bob@example.com"]);
    await shareWithTeam("RW");
    expect([await reveal(bob), await reveal(cid)]).toEqual(["200", "404 secret_not_found"]);
    await add("cid@example.com");
    expect(await reveal(cid)).toBe("200");
    expect((await cid.call("protect_link", { key_name: name, key_value: "w" })).outcome()).toBe(
      "200",
    );
    await remove(["bob@example.com", "cid@example.com"]);
    expect([await reveal(bob), await reveal(cid)]).toEqual([
      "404 secret_not_found",
      "404 secret_not_found",
    ]);
    expect(await isShared()).toBe(true);
    await add("bob@example.com");
    expect(await reveal(bob)).toBe("200");
  });

  test("a user who leaves the team still owns the share", async () => {
    await create(["ann@example.com", "bob@example.com"], cid);
    await shareWithTeam();
    await remove("ann@example.com", cid);
    expect([await reveal(bob), await reveal(ann)]).toEqual(["200", "200"]);
    expect((await shareWithTeam("RW")).outcome()).toBe("404 team_not_found");
    const response = await ann.call("unshare", { key_name: name, group_id_to: team });
    expect(response.json()).toEqual({ unshared: [{ key_name: name, from: team }] });
    expect([await reveal(bob), await isShared()]).toEqual(["404 secret_not_found", false]);
  });

  test("direct and team grants add up and are revoked separately", async () => {
    await create(["bob@example.com"]);
    await shareWithTeam("R");
    const direct = { key_name: name, usr_id_from: ann.email, usr_id_to: "bob@example.com" };
    await ann.call("share", { ...direct, permission: "W" });
    const permission = async () =>
      (await bob.call("list_no_dup"))
        .json()
        .secrets.find((secret: { key_name: string }) => secret.key_name === name)?.permission;
    expect(await permission()).toBe("RW");
    await create([], ann, `${team} other`);
    const other = await ann.call("unshare", { key_name: name, group_id_to: `${team} other` });
    expect([other.json(), await permission()]).toEqual([{ unshared: [] }, "RW"]);
    expect((await ann.call("unshare", direct)).json().unshared).toEqual([
      { key_name: name, from: bob.email },
    ]);
    expect(await permission()).toBe("R");
    await ann.call("share", { ...direct, permission: "W" });
    await ann.call("unshare", { key_name: name, group_id_to: team });
    expect(await permission()).toBeUndefined();
    expect((await bob.call("protect_link", { key_name: name, key_value: "w" })).outcome()).toBe(
      "200",
    );
    const both = await ann.call("share", {
      key_name: name,
      permission: "R",
      usr_id_from: ann.email,
      group_id_to: team,
    });
    expect(both.outcome()).toBe("200");
    expect((await ann.call("unshare", { key_name: name })).json().unshared).toEqual([
      { key_name: name, from: bob.email },
      { key_name: name, from: team },
    ]);
  });

  test("a dismissed team share stays for other members, and returns when shared again", async () => {
    await create(["bob@example.com", "cid@example.com"]);
    await shareWithTeam();
    const direct = {
      key_name: name,
      permission: "RW",
      usr_id_from: ann.email,
      usr_id_to: "bob@example.com",
    };
    await ann.call("share", direct);
    const response = await bob.call("delete_shared_key_link", { key_name: name });
    expect(response.json()).toEqual({ removed: { key_name: name, owner: ann.email } });
    expect([await reveal(bob), await reveal(cid), await isShared()]).toEqual([
      "404 secret_not_found",
      "200",
      true,
    ]);
    await remove("bob@example.com");
    await add("bob@example.com");
    expect(await reveal(bob)).toBe("404 secret_not_found");
    await shareWithTeam();
    expect(await reveal(bob)).toBe("200");
  });

  test("a dismissed share of one team is still visible through another team", async () => {
    await create(["bob@example.com"]);
    await shareWithTeam();
    await bob.call("delete_shared_key_link", { key_name: name });
    const other = `${team} other`;
    await create(["bob@example.com"], ann, other);
    expect(await reveal(bob)).toBe("404 secret_not_found");
    await ann.call("share", {
      key_name: name,
      permission: "R",
      usr_id_from: ann.email,
      group_id_to: other,
    });
    expect(await reveal(bob)).toBe("200");
  });

  test("deleting a team revokes its shares; a new team of that name gets none of them", async () => {
    await create(["bob@example.com"]);
    await shareWithTeam();
    await removeTeam();
    expect([await reveal(bob), await isShared()]).toEqual(["404 secret_not_found", false]);
    await create(["bob@example.com"], cid);
    expect(await reveal(bob)).toBe("404 secret_not_found");
  });

  test("a member's own secret shared with the team is listed once, as own", async () => {
    await create(["bob@example.com"]);
    await shareWithTeam("R");
    const own = (await ann.call("list_no_dup"))
      .json()
      .secrets.filter((secret: { key_name: string }) => secret.key_name === name);
    expect(own).toMatchObject([{ owner: ann.email, permission: "RW", shared: true }]);
    expect((await ann.call("delete_shared_key_link", { key_name: name })).outcome()).toBe(
      "404 secret_not_found",
    );
  });

  test("a token of limited scope lists teams but cannot change them", async () => {
    await create(["bob@example.com"]);
    await shareWithTeam();
    const scoped = await vault.client(ann.email, scopeString({ classification: ["low"] }));
    const outcomes = [
      await add(["cid@example.com"], scoped),
      await remove(["bob@example.com"], scoped),
      await removeTeam(scoped),
      await create(["cid@example.com"], scoped, `${team} other`),
    ].map((response) => response.outcome());
    expect(outcomes).toEqual(Array(4).fill("403 out_of_scope"));
    expect(await reveal(cid)).toBe("404 secret_not_found");
    expect((await teamsOf(scoped))[0].members).toEqual([ann.email, bob.email]);
    expect(await teamNames(ann)).not.toContain(`${team} other`);
    const unknown = await add(["cid@example.com"], scoped, `${team} other`);
    expect(unknown.outcome()).toBe("404 team_not_found");
  });
});
