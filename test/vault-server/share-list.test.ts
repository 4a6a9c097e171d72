import { beforeEach, describe, expect, test } from "vitest";
import { scopeString } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";

let name: string;
let freshNumber = 0;
const { vault, ann, bob } = await useVault({ more: ["idle@example.com"] });
beforeEach(async () => {
  name = `shared-${(freshNumber += 1)}`;
  await ann.call("protect", { key_name: name, key_value: "v" });
});

const share = async (to: object, permission = "R") =>
  (await ann.call("share", { key_name: name, usr_id_from: ann.email, permission, ...to })).json()
    .shared;
const listShares = (caller = ann, key_name: unknown = name) =>
  caller.call("share_list", { key_name });
const states = (list: { state: string }[]) => list.map(({ state }) => state);
const shares = async () => (await listShares()).json().shares;
const person = (to: string, permission = "R", state = "active") => ({
  to,
  kind: "person",
  permission,
  state,
});
const team = (to: string, permission = "R", state = "active") => ({
  to,
  kind: "team",
  permission,
  state,
});

describe("share_list", () => {
  test("lists users, then teams, in code point order, with permission and state", async () => {
    const teams = [`${name} 😀`, `${name} \uFFFD`, `${name} Z`];
    for (const group_id of teams) await ann.call("team_create", { group_id, members: [bob.email] });
    await ann.call("team_add_members", { group_id: teams[0], members: ["new@example.com"] });
    await share({ group_id_to: teams[0] }, "RW");
    await share({ group_id_to: teams[1] }, "W");
    await share({ group_id_to: teams[2] });
    await share({ usr_id_to: ["new@example.com", "idle@example.com"] }, "W");
    await share({ usr_id_to: ["BOB@example.com"] }, "RW");
    await share({ usr_id_to: ["_@example.com"] });
    const response = await listShares();
    expect(response.outcome()).toBe("200");
    expect(response.json()).toEqual({
      key_name: name,
      shares: [
        person("_@example.com", "R", "invited"),
        person(bob.email, "RW"),
        person("idle@example.com", "W", "invited"),
        person("new@example.com", "W", "invited"),
        team(`${name} Z`),
        team(`${name} \uFFFD`, "W"),
        team(`${name} 😀`, "RW", "invited"),
      ],
    });
  });

  test("has the same state as the response of share, and follows team membership", async () => {
    const group_id = `${name} team`;
    await ann.call("team_create", { group_id, members: [bob.email, "later@example.com"] });
    const responded = [
      ...(await share({ usr_id_to: [bob.email, "later@example.com"] })),
      ...(await share({ group_id_to: group_id })),
    ];
    expect(states(responded)).toEqual(["active", "invited", "invited"]);
    expect(states(await shares())).toEqual(states(responded));
    await ann.call("team_remove_members", { group_id, members: "later@example.com" });
    expect(states(await shares())).toEqual(["active", "invited", "active"]);
  });

  test("follows changed permissions, unsharing and deleted teams", async () => {
    const group_id = `${name} team`;
    await ann.call("team_create", { group_id });
    expect(await shares()).toEqual([]);
    for (const permission of ["R", "W", "RW"]) {
      await share({ usr_id_to: bob.email }, permission);
      await share({ group_id_to: group_id }, permission);
      expect(await shares()).toEqual([person(bob.email, permission), team(group_id, permission)]);
    }
    await ann.call("unshare", { key_name: name, usr_id_to: bob.email });
    expect(await shares()).toEqual([team(group_id, "RW")]);
    await ann.call("team_delete", { group_id });
    expect(await shares()).toEqual([]);
  });

  test("omits a share its grantee dismissed, but not one through the grantee's team", async () => {
    const group_id = `${name} team`;
    await ann.call("team_create", { group_id, members: [bob.email] });
    await share({ usr_id_to: bob.email });
    await share({ group_id_to: group_id });
    expect((await bob.call("delete_shared_key_link", { key_name: name })).outcome()).toBe("200");
    expect(await shares()).toEqual([team(group_id)]);
  });

  test("lists a share with a team that the creator has left", async () => {
    const group_id = `${name} team`;
    await bob.call("team_create", { group_id, members: [ann.email] });
    await share({ group_id_to: group_id });
    await bob.call("team_remove_members", { group_id, members: [ann.email] });
    expect(await shares()).toEqual([team(group_id)]);
  });

  test("is forbidden for grantees, and secret_not_found for other users", async () => {
    expect((await listShares(bob)).outcome()).toBe("404 secret_not_found");
    for (const permission of ["R", "W", "RW"]) {
      await share({ usr_id_to: bob.email }, permission);
      expect((await listShares(bob)).outcome()).toBe("403 forbidden");
    }
    expect((await listShares(ann, "nowhere")).outcome()).toBe("404 secret_not_found");
    await bob.call("protect", { key_name: name, key_value: "bob's own" });
    expect((await listShares(bob)).json()).toEqual({ key_name: name, shares: [] });
  });

  test("is out_of_scope for a token whose scope does not include the secret", async () => {
    await share({ usr_id_to: bob.email });
    const outside = await vault.client(ann.email, scopeString({ secret_name: ["other"] }));
    expect((await listShares(outside)).outcome()).toBe("403 out_of_scope");
    const within = await vault.client(ann.email, scopeString({ secret_name: [name] }));
    expect((await listShares(within)).json().shares).toEqual([person(bob.email)]);
  });

  test.each([
    ["no name", undefined],
    ["several names", ["a", "b"]],
    ["an empty name", ""],
  ])("rejects %s", async (_what, key_name) => {
    expect((await ann.call("share_list", { key_name })).outcome()).toBe("400 invalid_request");
  });
});
