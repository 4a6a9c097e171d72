import { beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { SharedSecret } from "../lab/vault/shared-secret.ts";
import { scopeString } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const MINUTE = 60_000;

const clock = new VirtualClock();
let secret: SharedSecret;
const { vault, ann, bob, cid } = await useVault({ clock, more: ["idle@example.com"] });
beforeEach(async () => {
  secret = await SharedSecret.create(ann);
});

const grant = (key_name: string, to: string) => ({
  key_name,
  to,
  permission: "RW",
  state: "active",
});

const users = (count: number) =>
  Array.from({ length: count }, (_, index) => `p${index}@example.com`);

describe("share", () => {
  test.each([
    ["no recipient", {}],
    ["both kinds of recipient", { usr_id_to: ["bob@example.com"], group_id_to: "team" }],
    ["an empty list", { usr_id_to: [] }],
    ["an invalid address", { usr_id_to: ["bob"] }],
    ["a list of teams", { group_id_to: ["team"] }],
    ["the caller as recipient", { usr_id_to: ["bob@example.com", "Ann@Example.com"] }],
    ["no permission", { usr_id_to: ["bob@example.com"], permission: undefined }],
    ["an unknown permission", { usr_id_to: ["bob@example.com"], permission: "WR" }],
    ["no sharing user", { usr_id_to: ["bob@example.com"], usr_id_from: undefined }],
    ["no name", { usr_id_to: ["bob@example.com"], key_name: [] }],
    ["a control character in the team's name", { group_id_to: "a\nb" }],
    ["more than 200 grants", { usr_id_to: users(101), key_name: ["a", "b"] }],
    ["more than 200 users", { usr_id_to: users(201) }],
    [
      "a team and more than 200 names",
      { group_id_to: "team", key_name: Array.from({ length: 201 }, (_, i) => `n${i}`) },
    ],
  ])("rejects %s", async (_what, body) => {
    expect((await secret.share(body)).outcome()).toBe("400 invalid_request");
    expect(await secret.outcomeOfReading(bob)).toBe("404 secret_not_found");
  });

  test("requires usr_id_from to be the caller, compared case-insensitively", async () => {
    expect((await secret.share({ usr_id_to: bob.email, usr_id_from: bob.email })).outcome()).toBe(
      "403 email_mismatch",
    );
    expect(
      (await secret.share({ usr_id_to: bob.email, usr_id_from: "ANN@example.com" })).outcome(),
    ).toBe("200");
  });

  test("with a team of another creator than expected is team_not_found, and shares nothing", async () => {
    await bob.call("team_create", { group_id: "expected", members: [ann.email] });
    const to = { group_id_to: "expected" };
    expect((await secret.share({ ...to, group_creator: ann.email })).outcome()).toBe(
      "404 team_not_found",
    );
    expect(await secret.outcomeOfReading(bob)).toBe("404 secret_not_found");
    expect((await secret.share({ ...to, group_creator: "BOB@example.com" })).outcome()).toBe("200");
    expect(await secret.outcomeOfReading(bob)).toBe("200");
  });

  test("is forbidden for grantees, and secret_not_found for other users", async () => {
    await secret.shareWith(bob, "RW");
    expect(
      (await secret.share({ usr_id_from: bob.email, usr_id_to: cid.email }, bob)).outcome(),
    ).toBe("403 forbidden");
    expect(
      (await secret.share({ usr_id_from: cid.email, usr_id_to: bob.email }, cid)).outcome(),
    ).toBe("404 secret_not_found");
    expect(await secret.outcomeOfReading(cid)).toBe("404 secret_not_found");
  });

  test("shares nothing when one name or recipient is rejected", async () => {
    const foreign = `bobs-${secret.name}`;
    await bob.call("protect", { key_name: foreign, key_value: "v" });
    await bob.call("share", {
      key_name: foreign,
      permission: "RW",
      usr_id_from: bob.email,
      usr_id_to: ann.email,
    });
    const narrow = await vault.client(ann.email, scopeString({ secret_name: [secret.name] }));
    const outside = `outside-${secret.name}`;
    await ann.call("protect", { key_name: outside, key_value: "v" });
    for (const [caller, other, outcome] of [
      [ann, "nowhere", "404 secret_not_found"],
      [ann, foreign, "403 forbidden"],
      [narrow, outside, "403 out_of_scope"],
    ] as const) {
      const response = await secret.share(
        { key_name: [secret.name, other], usr_id_to: cid.email },
        caller,
      );
      expect(response.outcome(), other).toEqual(outcome);
      expect(response.json().error.details).toMatchObject([{ path: "key_name.1" }]);
    }
    expect((await secret.share({ group_id_to: "no such team" })).outcome()).toBe(
      "404 team_not_found",
    );
    expect(await secret.outcomeOfReading(cid)).toBe("404 secret_not_found");
  });

  test("shares several secrets with several users in one request, listing each grant once", async () => {
    const other = `${secret.name}-other`;
    await ann.call("protect", { key_name: other, key_value: "v" });
    const many = await secret.share({
      key_name: [other, secret.name, other],
      usr_id_to: ["CID@example.com", bob.email, cid.email],
      permission: "RW",
    });
    expect(many.outcome()).toBe("200");
    expect(many.json()).toEqual({
      shared: [
        grant(other, cid.email),
        grant(other, bob.email),
        grant(secret.name, cid.email),
        grant(secret.name, bob.email),
      ],
    });
    const single = await secret.share({
      key_name: secret.name,
      usr_id_to: bob.email,
      permission: "RW",
    });
    expect(single.json()).toEqual({ shared: [grant(secret.name, bob.email)] });
    expect(await secret.outcomeOfReading(bob)).toBe("200");
    expect(await secret.outcomeOfReading(cid)).toBe("200");
  });

  test("creates up to 200 shares in one request and none beyond", async () => {
    const other = await SharedSecret.create(ann);
    const share = (count: number) =>
      ann.call("share", {
        key_name: [secret.name, other.name],
        permission: "R",
        usr_id_from: ann.email,
        usr_id_to: users(count),
      });
    const sharesOf = async (name: string) =>
      (await ann.call("share_list", { key_name: name })).json().shares.length;
    expect((await share(101)).outcome()).toBe("400 invalid_request");
    expect(await sharesOf(secret.name)).toBe(0);
    expect(await sharesOf(other.name)).toBe(0);
    expect((await share(100)).json().shared).toHaveLength(200);
    expect(await sharesOf(secret.name)).toBe(100);
    expect(await sharesOf(other.name)).toBe(100);
  });

  test("R lists and reads, W writes, RW does both; sharing again replaces the permission", async () => {
    for (const [permission, list, reveal, write] of [
      ["R", [[ann.email, "R", true]], "200", "403 forbidden"],
      ["W", [], "403 forbidden", "200"],
      ["RW", [[ann.email, "RW", true]], "200", "200"],
      ["R", [[ann.email, "R", true]], "200", "403 forbidden"],
    ] as const) {
      await secret.shareWith(bob, permission);
      const written = await bob.call("protect_link", { key_name: secret.name, key_value: "w" });
      expect(await secret.listedFor(bob), permission).toEqual(list);
      expect(await secret.outcomeOfReading(bob), permission).toEqual(reveal);
      expect(written.outcome(), permission).toEqual(write);
    }
    expect(await secret.listedFor(ann)).toEqual([[ann.email, "RW", true]]);
  });

  test("a share ends with the secret's deadline, and a new secret of the name is unshared", async () => {
    await ann.call("protect", { key_name: secret.name, key_value: "short", delete_time: 5 });
    await secret.shareWith(bob);
    clock.stepWall(5 * MINUTE - 1);
    expect(await secret.outcomeOfReading(bob)).toBe("200");
    expect(await secret.listedFor(bob)).toEqual([[ann.email, "R", true]]);
    clock.stepWall(1);
    expect(await secret.outcomeOfReading(bob)).toBe("404 secret_not_found");
    expect(await secret.listedFor(bob)).toEqual([]);
    expect(await secret.listedFor(ann)).toEqual([]);
    for (const operation of ["share", "unshare", "delete", "delete_shared_key_link"] as const) {
      const response = await (operation === "delete_shared_key_link" ? bob : ann).call(operation, {
        usr_id_from: ann.email,
        permission: "R",
        key_name: secret.name,
        usr_id_to: bob.email,
      });
      expect(response.outcome(), operation).toBe("404 secret_not_found");
    }
    await ann.call("protect", { key_name: secret.name, key_value: "new" });
    expect(await secret.outcomeOfReading(bob)).toBe("404 secret_not_found");
    expect(await secret.listedFor(ann)).toEqual([[ann.email, "RW", false]]);
  });
});

describe("list_no_dup with received secrets", () => {
  test("lists own and received secrets of a name once each, ordered by creator", async () => {
    for (const caller of [cid, bob]) {
      await caller.call("protect", { key_name: secret.name, key_value: "v" });
      await secret.share(
        { usr_id_from: caller.email, usr_id_to: [ann.email], permission: "R" },
        caller,
      );
    }
    await secret.share({ usr_id_to: [cid.email] });
    expect(await secret.listedFor(ann)).toEqual([
      [ann.email, "RW", true],
      [bob.email, "R", true],
      [cid.email, "R", true],
    ]);
    const all = (await ann.call("list_no_dup")).json().secrets;
    const keys = all.map(
      (each: { key_name: string; owner: string }) => `${each.key_name}\0${each.owner}`,
    );
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("lists a received secret with its latest version, and no value", async () => {
    await secret.shareWith(bob);
    await ann.call("protect_link", { key_name: secret.name, key_value: "canary-shared-77c1" });
    const response = await bob.call("list_no_dup");
    const record = response
      .json()
      .secrets.find(({ key_name }: { key_name: string }) => key_name === secret.name);
    expect(record).toMatchObject({
      key_version: 2,
      owner: ann.email,
      delete_time: 525_600_000,
      expired: false,
    });
    expect(response.bytes.toString()).not.toContain("canary-shared-77c1");
  });

  test("has a new entity tag after every grant to the caller", async () => {
    const tag = async () => (await bob.call("list_no_dup")).headers.etag;
    const before = await tag();
    await secret.shareWith(bob);
    const shared = await tag();
    await secret.shareWith(bob, "RW");
    const more = await tag();
    await secret.unshare();
    expect(new Set([before, shared, more]).size).toBe(3);
    expect(await tag()).not.toBe(more);
  });
});
