import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mailTo, receivedMail } from "../support/mail/mailbox.ts";
import { VirtualClock } from "../support/clock/virtual-clock.ts";
import { TestVault } from "../support/vault/test-vault.ts";
import { scopeString, type VaultClient } from "../support/vault/vault-client.ts";
import { vaultData } from "../support/vault/vault-data.ts";
import { generateMasterKey } from "../../src/vault-server/crypto/master-key.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let clock: VirtualClock;
let vault: TestVault;
let ann: VaultClient;
let bob: VaultClient;
let cid: VaultClient;
let name: string;
let freshNumber = 0;
beforeAll(async () => {
  clock = new VirtualClock();
  vault = await TestVault.start({
    clock,
    emails: ["ann@example.com", "bob@example.com", "cid@example.com", "idle@example.com"],
    limits: { requestsPerSecond: 1e6, requestBurst: 1e6 },
  });
  ann = await vault.client("ann@example.com", scopeString(), 1e6);
  bob = await vault.client("bob@example.com", scopeString(), 1e6);
  cid = await vault.client("cid@example.com", scopeString(), 1e6);
});
afterAll(() => vault[Symbol.asyncDispose]());
beforeEach(async () => {
  name = `shared-${(freshNumber += 1)}`;
  await ann.call("protect", { key_name: name, key_value: `value of ${name}` });
});

const shareBody = () => ({ key_name: name, permission: "R", usr_id_from: ann.email });
const share = (body: object, caller = ann) => caller.call("share", { ...shareBody(), ...body });
const shareWith = (to: VaultClient, permission = "R") => share({ usr_id_to: [to.email], permission });
const unshare = (body: object = {}, caller = ann) => caller.call("unshare", { key_name: name, ...body });
const leave = (caller: VaultClient, more = {}) => caller.call("delete_shared_key_link", { key_name: name, ...more });
const listed = async (caller: VaultClient) =>
  (await caller.call("list_no_dup"))
    .json()
    .secrets.filter((secret: { key_name: string }) => secret.key_name === name)
    .map((secret: { owner: string; permission: string; shared: boolean }) => [secret.owner, secret.permission, secret.shared]);
const mayReveal = async (caller: VaultClient) => (await caller.call("expose_link", { key_name: name })).outcome();

const grant = (key_name: string, to: string) => ({ key_name, to, permission: "RW", state: "active" });

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
    ["too many grants", { usr_id_to: Array.from({ length: 5001 }, (_, i) => `p${i}@example.com`), key_name: ["a", "b"] }],
  ])("rejects %s", async (_what, body) => {
    expect((await share(body)).outcome()).toBe("400 invalid_request");
    expect(await mayReveal(bob)).toBe("404 secret_not_found");
  });

  test("requires usr_id_from to be the caller, compared case-insensitively", async () => {
    expect((await share({ usr_id_to: bob.email, usr_id_from: bob.email })).outcome()).toBe("403 email_mismatch");
    expect((await share({ usr_id_to: bob.email, usr_id_from: "ANN@example.com" })).outcome()).toBe("200");
  });

  test("is forbidden for grantees, and secret_not_found for other users", async () => {
    await shareWith(bob, "RW");
    expect((await share({ usr_id_from: bob.email, usr_id_to: cid.email }, bob)).outcome()).toBe("403 forbidden");
    expect((await share({ usr_id_from: cid.email, usr_id_to: bob.email }, cid)).outcome()).toBe("404 secret_not_found");
    expect(await mayReveal(cid)).toBe("404 secret_not_found");
  });

  test("shares nothing when one name or recipient is rejected", async () => {
    const foreign = `bobs-${freshNumber}`;
    await bob.call("protect", { key_name: foreign, key_value: "v" });
    await bob.call("share", { key_name: foreign, permission: "RW", usr_id_from: bob.email, usr_id_to: ann.email });
    const narrow = await vault.client(ann.email, scopeString({ secret_name: [name] }));
    const outside = `outside-${freshNumber}`;
    await ann.call("protect", { key_name: outside, key_value: "v" });
    for (const [caller, other, outcome] of [
      [ann, "nowhere", "404 secret_not_found"],
      [ann, foreign, "403 forbidden"],
      [narrow, outside, "403 out_of_scope"],
    ] as const) {
      const response = await share({ key_name: [name, other], usr_id_to: cid.email }, caller);
      expect([other, response.outcome()]).toEqual([other, outcome]);
      expect(response.json().error.details).toMatchObject([{ path: "key_name.1" }]);
    }
    expect((await share({ group_id_to: "no such team" })).outcome()).toBe("404 team_not_found");
    expect(await mayReveal(cid)).toBe("404 secret_not_found");
  });

  test("shares several secrets with several users in one request, listing each grant once", async () => {
    const other = `${name}-other`;
    await ann.call("protect", { key_name: other, key_value: "v" });
    const many = await share({
      key_name: [other, name, other],
      usr_id_to: ["CID@example.com", bob.email, cid.email],
      permission: "RW",
    });
    expect([many.outcome(), many.json()]).toEqual([
      "200",
      { shared: [grant(other, cid.email), grant(other, bob.email), grant(name, cid.email), grant(name, bob.email)] },
    ]);
    const single = await share({ key_name: name, usr_id_to: bob.email, permission: "RW" });
    expect(single.json()).toEqual({ shared: [grant(name, bob.email)] });
    expect([await mayReveal(bob), await mayReveal(cid)]).toEqual(["200", "200"]);
  });

  test("R lists and reads, W writes, RW does both; sharing again replaces the permission", async () => {
    for (const [permission, list, reveal, write] of [
      ["R", [[ann.email, "R", true]], "200", "403 forbidden"],
      ["W", [], "403 forbidden", "200"],
      ["RW", [[ann.email, "RW", true]], "200", "200"],
      ["R", [[ann.email, "R", true]], "200", "403 forbidden"],
    ] as const) {
      await shareWith(bob, permission);
      const written = await bob.call("protect_link", { key_name: name, key_value: "w" });
      expect([permission, await listed(bob), await mayReveal(bob), written.outcome()]).toEqual([permission, list, reveal, write]);
    }
    expect(await listed(ann)).toEqual([[ann.email, "RW", true]]);
  });

  test("a share ends with the secret's deadline, and a new secret of the name is unshared", async () => {
    await ann.call("protect", { key_name: name, key_value: "short", delete_time: 5 });
    await shareWith(bob);
    clock.stepWall(5 * MINUTE - 1);
    expect([await mayReveal(bob), await listed(bob)]).toEqual(["200", [[ann.email, "R", true]]]);
    clock.stepWall(1);
    expect([await mayReveal(bob), await listed(bob), await listed(ann)]).toEqual(["404 secret_not_found", [], []]);
    for (const operation of ["share", "unshare", "delete", "delete_shared_key_link"] as const) {
      const response = await (operation === "delete_shared_key_link" ? bob : ann).call(operation, {
        ...shareBody(),
        usr_id_to: bob.email,
      });
      expect([operation, response.outcome()]).toEqual([operation, "404 secret_not_found"]);
    }
    await ann.call("protect", { key_name: name, key_value: "new" });
    expect([await mayReveal(bob), await listed(ann)]).toEqual(["404 secret_not_found", [[ann.email, "RW", false]]]);
  });
});

describe("list_no_dup with received secrets", () => {
  test("lists own and received secrets of a name once each, ordered by creator", async () => {
    for (const caller of [cid, bob]) {
      await caller.call("protect", { key_name: name, key_value: "v" });
      await share({ usr_id_from: caller.email, usr_id_to: [ann.email], permission: "R" }, caller);
    }
    await share({ usr_id_to: [cid.email] });
    expect(await listed(ann)).toEqual([
      [ann.email, "RW", true],
      [bob.email, "R", true],
      [cid.email, "R", true],
    ]);
    const all = (await ann.call("list_no_dup")).json().secrets;
    const keys = all.map((secret: { key_name: string; owner: string }) => `${secret.key_name}\0${secret.owner}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test("lists a received secret with its latest version, and no value", async () => {
    await shareWith(bob);
    await ann.call("protect_link", { key_name: name, key_value: "canary-shared-77c1" });
    const response = await bob.call("list_no_dup");
    const record = response.json().secrets.find((secret: { key_name: string }) => secret.key_name === name);
    expect(record).toMatchObject({ key_version: 2, owner: ann.email, delete_time: 525_600_000, expired: false });
    expect(response.bytes.toString()).not.toContain("canary-shared-77c1");
  });

  test("has a new entity tag after every grant to the caller", async () => {
    const tag = async () => (await bob.call("list_no_dup")).headers.etag;
    const before = await tag();
    await shareWith(bob);
    const shared = await tag();
    await shareWith(bob, "RW");
    const more = await tag();
    await unshare();
    expect(new Set([before, shared, more]).size).toBe(3);
    expect(await tag()).not.toBe(more);
  });
});

describe("unshare", () => {
  test.each([
    ["both kinds of recipient", { usr_id_to: "bob@example.com", group_id_to: "team" }],
    ["an empty list", { usr_id_to: [] }],
    ["an invalid address", { usr_id_to: "bob" }],
    ["no name", { key_name: undefined }],
  ])("rejects %s", async (_what, body) => {
    await shareWith(bob);
    expect((await unshare(body)).outcome()).toBe("400 invalid_request");
    expect(await mayReveal(bob)).toBe("200");
  });

  test("is allowed for the creator only, with the caller as usr_id_from", async () => {
    await shareWith(bob, "RW");
    expect((await unshare({}, bob)).outcome()).toBe("403 forbidden");
    expect((await unshare({}, cid)).outcome()).toBe("404 secret_not_found");
    expect((await unshare({ usr_id_from: bob.email })).outcome()).toBe("403 email_mismatch");
    const narrow = await vault.client(ann.email, scopeString({ secret_name: ["other"] }));
    expect((await unshare({}, narrow)).outcome()).toBe("403 out_of_scope");
    expect((await unshare({ key_name: [name, "nowhere"] })).outcome()).toBe("404 secret_not_found");
    expect(await mayReveal(bob)).toBe("200");
  });

  test("revokes the named grants, or all; a secret without grants is unshared", async () => {
    await share({ usr_id_to: [cid.email, bob.email], permission: "RW" });
    const one = await unshare({ usr_id_from: ann.email, usr_id_to: ["BOB@example.com", "unknown@example.com"] });
    expect([one.outcome(), one.json()]).toEqual(["200", { unshared: [{ key_name: name, from: bob.email }] }]);
    expect([await mayReveal(bob), await mayReveal(cid)]).toEqual(["404 secret_not_found", "200"]);
    expect(await listed(ann)).toEqual([[ann.email, "RW", true]]);
    await shareWith(bob);
    const rest = await unshare({ key_name: [name] });
    const from = (email: string) => ({ key_name: name, from: email });
    expect(rest.json()).toEqual({ unshared: [from(bob.email), from(cid.email)] });
    expect([await mayReveal(bob), await mayReveal(cid)]).toEqual(["404 secret_not_found", "404 secret_not_found"]);
    expect(await listed(ann)).toEqual([[ann.email, "RW", false]]);
  });

  test("responds with an empty list when there is nothing to unshare", async () => {
    for (const body of [{}, { usr_id_to: bob.email }, { group_id_to: "no such team" }]) {
      const response = await unshare(body);
      expect([response.outcome(), response.json()]).toEqual(["200", { unshared: [] }]);
    }
  });
});

describe("delete_shared_key_link", () => {
  test("is secret_not_found for own secrets and for secrets not shared with the caller", async () => {
    await shareWith(bob);
    expect((await leave(ann)).outcome()).toBe("404 secret_not_found");
    expect((await leave(cid)).outcome()).toBe("404 secret_not_found");
    expect((await leave(bob, { owner: cid.email })).outcome()).toBe("404 secret_not_found");
    expect((await leave(bob, { key_name: ["x"] })).outcome()).toBe("400 invalid_request");
    const narrow = await vault.client(bob.email, scopeString({ secret_name: ["other"] }));
    expect((await leave(narrow)).outcome()).toBe("403 out_of_scope");
    expect(await mayReveal(bob)).toBe("200");
  });

  test("removes the secret for the caller only, until it is shared again", async () => {
    await share({ usr_id_to: [bob.email, cid.email] });
    const response = await leave(bob);
    expect([response.outcome(), response.json()]).toEqual(["200", { removed: { key_name: name, owner: ann.email } }]);
    expect([await mayReveal(bob), await listed(bob)]).toEqual(["404 secret_not_found", []]);
    expect([await mayReveal(cid), await mayReveal(ann)]).toEqual(["200", "200"]);
    expect((await leave(bob)).outcome()).toBe("404 secret_not_found");
    await shareWith(bob);
    expect(await mayReveal(bob)).toBe("200");
  });

  test("leaves the secret unshared when the last grantee dismisses it, also with W only", async () => {
    await shareWith(bob, "W");
    expect((await leave(bob)).outcome()).toBe("200");
    expect(await listed(ann)).toEqual([[ann.email, "RW", false]]);
    expect((await ann.call("expose", { key_name: name })).outcome()).toBe("200");
  });

  test("requires the owner when two secrets of the name were received", async () => {
    await shareWith(bob);
    await cid.call("protect", { key_name: name, key_value: "cid's" });
    await share({ usr_id_from: cid.email, usr_id_to: bob.email }, cid);
    expect((await leave(bob)).outcome()).toBe("409 ambiguous_name");
    expect((await leave(bob, { owner: "CID@example.com" })).json()).toEqual({ removed: { key_name: name, owner: cid.email } });
    expect((await bob.call("expose_link", { key_name: name })).json().owner).toBe(ann.email);
  });

  test("keeps the caller's own secret of the same name", async () => {
    await shareWith(bob);
    await bob.call("protect", { key_name: name, key_value: "bob's" });
    expect((await leave(bob)).json()).toEqual({ removed: { key_name: name, owner: ann.email } });
    expect((await bob.call("expose", { key_name: name })).json().key_value).toBe("bob's");
  });
});

const states = async (to: readonly string[]) =>
  (await share({ usr_id_to: to })).json().shared.map((each: { state: string }) => each.state);

describe("sharing with users who are not logged in", () => {
  test("invites users without an account or a valid session, and no others", async () => {
    expect(await states([bob.email, "new@example.com", "idle@example.com"])).toEqual(["active", "invited", "invited"]);
    expect((await mailTo(vault.mailDirectory, "new@example.com")).text).toContain("Choose a password");
    expect((await mailTo(vault.mailDirectory, "idle@example.com")).text).toContain("log in");
    expect((await receivedMail(vault.mailDirectory)).map(({ to }) => to)).not.toContain(bob.email);
  });

  test("counts a user as active while an access token or the refresh token's 90 days last", async () => {
    const idle = "idle@example.com";
    await vault.client(idle, scopeString(), 1);
    clock.stepWall(2 * HOUR);
    expect(await states([idle])).toEqual(["active"]);
    clock.stepWall(90 * DAY - 2 * HOUR - 1);
    expect(await states([idle])).toEqual(["active"]);
    clock.stepWall(1);
    expect(await states([idle])).toEqual(["invited"]);
    await vault.client(idle, scopeString(), 100 * 24);
    clock.stepWall(100 * DAY - 1);
    expect(await states([idle])).toEqual(["active"]);
    clock.stepWall(1);
    expect(await states([idle])).toEqual(["invited"]);
  });

  test("sends no invitation for a rejected request", async () => {
    await share({ key_name: [name, "nowhere"], usr_id_to: "refused@example.com" });
    await share({ usr_id_to: "granted@example.com" });
    await mailTo(vault.mailDirectory, "granted@example.com");
    expect((await receivedMail(vault.mailDirectory)).map(({ to }) => to)).not.toContain("refused@example.com");
  });

  test("shows secrets shared with an address, directly or through a team, after sign-up", async () => {
    await using data = await vaultData();
    const stored = { data: data.location, masterKey: generateMasterKey() };
    {
      await using before = await TestVault.start({ ...stored, emails: ["ann@example.com"] });
      const creator = await before.client("ann@example.com");
      await creator.call("team_create", { group_id: "team", members: ["New@Example.com"] });
      for (const [key_name, to] of [
        ["direct", { usr_id_to: "NEW@example.com" }],
        ["by team", { group_id_to: "team" }],
      ] as const) {
        await creator.call("protect", { key_name, key_value: `value ${key_name}` });
        const response = await creator.call("share", { ...shareBody(), key_name, ...to });
        expect(response.json().shared[0].state).toBe("invited");
      }
    }
    await using after = await TestVault.start({ ...stored, emails: ["new@example.com"] });
    const reader = await after.client("new@example.com");
    const seen = (await reader.call("list_no_dup")).json().secrets.map((secret: { key_name: string }) => secret.key_name);
    expect(seen).toEqual(["by team", "direct"]);
    expect((await reader.call("expose_link", { key_name: "direct" })).json().key_value).toBe("value direct");
  });
});
