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
    ["an address that is none", { usr_id_to: ["bob"] }],
    ["a list of teams", { group_id_to: ["team"] }],
    ["oneself", { usr_id_to: ["bob@example.com", "Ann@Example.com"] }],
    ["no permission", { usr_id_to: ["bob@example.com"], permission: undefined }],
    ["a permission of another spelling", { usr_id_to: ["bob@example.com"], permission: "WR" }],
    ["no sharing user", { usr_id_to: ["bob@example.com"], usr_id_from: undefined }],
    ["no name", { usr_id_to: ["bob@example.com"], key_name: [] }],
    ["a control character in the team's name", { group_id_to: "a\nb" }],
    [
      "more grants than a request may make",
      { usr_id_to: Array.from({ length: 5001 }, (_, i) => `p${i}@example.com`), key_name: ["a", "b"] },
    ],
  ])("%s is refused", async (_what, body) => {
    expect((await share(body)).outcome()).toBe("400 invalid_request");
    expect(await mayReveal(bob)).toBe("404 secret_not_found");
  });

  test("a sharing user other than the caller is refused, compared case-insensitively", async () => {
    expect((await share({ usr_id_to: bob.email, usr_id_from: bob.email })).outcome()).toBe("403 email_mismatch");
    expect((await share({ usr_id_to: bob.email, usr_id_from: "ANN@example.com" })).outcome()).toBe("200");
  });

  test("only the creator shares; a grantee, even one who may write, is forbidden, anybody else finds nothing", async () => {
    await shareWith(bob, "RW");
    expect((await share({ usr_id_from: bob.email, usr_id_to: cid.email }, bob)).outcome()).toBe("403 forbidden");
    expect((await share({ usr_id_from: cid.email, usr_id_to: bob.email }, cid)).outcome()).toBe("404 secret_not_found");
    expect(await mayReveal(cid)).toBe("404 secret_not_found");
  });

  test("all or nothing over names and recipients", async () => {
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
      const answer = await share({ key_name: [name, other], usr_id_to: cid.email }, caller);
      expect([other, answer.outcome()]).toEqual([other, outcome]);
      expect(answer.json().error.details).toMatchObject([{ path: "key_name.1" }]);
    }
    expect((await share({ group_id_to: "no such team" })).outcome()).toBe("404 team_not_found");
    expect(await mayReveal(cid)).toBe("404 secret_not_found");
  });

  test("several secrets and several people at once, a string standing for a list of one, each grant said once", async () => {
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

  test("R lists and reveals, W does neither, RW both; sharing again replaces the permission", async () => {
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

  test("the deadline ends the share with the secret, and a new secret of the name is shared with nobody", async () => {
    await ann.call("protect", { key_name: name, key_value: "short", delete_time: 5 });
    await shareWith(bob);
    clock.stepWall(5 * MINUTE - 1);
    expect([await mayReveal(bob), await listed(bob)]).toEqual(["200", [[ann.email, "R", true]]]);
    clock.stepWall(1);
    expect([await mayReveal(bob), await listed(bob), await listed(ann)]).toEqual(["404 secret_not_found", [], []]);
    for (const operation of ["share", "unshare", "delete", "delete_shared_key_link"] as const) {
      const answer = await (operation === "delete_shared_key_link" ? bob : ann).call(operation, {
        ...shareBody(),
        usr_id_to: bob.email,
      });
      expect([operation, answer.outcome()]).toEqual([operation, "404 secret_not_found"]);
    }
    await ann.call("protect", { key_name: name, key_value: "new" });
    expect([await mayReveal(bob), await listed(ann)]).toEqual(["404 secret_not_found", [[ann.email, "RW", false]]]);
  });
});

describe("list_no_dup with received secrets", () => {
  test("shows own and received ones of a name each once, by creator", async () => {
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

  test("a received record is that of the latest version, whoever wrote it, and holds no value", async () => {
    await shareWith(bob);
    await ann.call("protect_link", { key_name: name, key_value: "canary-shared-77c1" });
    const answer = await bob.call("list_no_dup");
    const record = answer.json().secrets.find((secret: { key_name: string }) => secret.key_name === name);
    expect(record).toMatchObject({ key_version: 2, owner: ann.email, delete_time: 525_600_000, expired: false });
    expect(answer.bytes.toString()).not.toContain("canary-shared-77c1");
  });

  test("its etag changes with every grant that concerns the caller", async () => {
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
    ["an address that is none", { usr_id_to: "bob" }],
    ["no name", { key_name: undefined }],
  ])("%s is refused", async (_what, body) => {
    await shareWith(bob);
    expect((await unshare(body)).outcome()).toBe("400 invalid_request");
    expect(await mayReveal(bob)).toBe("200");
  });

  test("it is the creator's alone, and in the caller's own name", async () => {
    await shareWith(bob, "RW");
    expect((await unshare({}, bob)).outcome()).toBe("403 forbidden");
    expect((await unshare({}, cid)).outcome()).toBe("404 secret_not_found");
    expect((await unshare({ usr_id_from: bob.email })).outcome()).toBe("403 email_mismatch");
    const narrow = await vault.client(ann.email, scopeString({ secret_name: ["other"] }));
    expect((await unshare({}, narrow)).outcome()).toBe("403 out_of_scope");
    expect((await unshare({ key_name: [name, "nowhere"] })).outcome()).toBe("404 secret_not_found");
    expect(await mayReveal(bob)).toBe("200");
  });

  test("takes the secret from those named, from everybody when none is; without a grant left it is unshared", async () => {
    await share({ usr_id_to: [cid.email, bob.email], permission: "RW" });
    const one = await unshare({ usr_id_from: ann.email, usr_id_to: ["BOB@example.com", "nobody@example.com"] });
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

  test("nothing to unshare is an empty list", async () => {
    for (const body of [{}, { usr_id_to: bob.email }, { group_id_to: "no such team" }]) {
      const answer = await unshare(body);
      expect([answer.outcome(), answer.json()]).toEqual(["200", { unshared: [] }]);
    }
  });
});

describe("delete_shared_key_link", () => {
  test("one's own secret, one that isn't shared with the caller, and one that isn't there are not found", async () => {
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
    const answer = await leave(bob);
    expect([answer.outcome(), answer.json()]).toEqual(["200", { removed: { key_name: name, owner: ann.email } }]);
    expect([await mayReveal(bob), await listed(bob)]).toEqual(["404 secret_not_found", []]);
    expect([await mayReveal(cid), await mayReveal(ann)]).toEqual(["200", "200"]);
    expect((await leave(bob)).outcome()).toBe("404 secret_not_found");
    await shareWith(bob);
    expect(await mayReveal(bob)).toBe("200");
  });

  test("by the last grantee it leaves the secret unshared; a mere writer may do it too", async () => {
    await shareWith(bob, "W");
    expect((await leave(bob)).outcome()).toBe("200");
    expect(await listed(ann)).toEqual([[ann.email, "RW", false]]);
    expect((await ann.call("expose", { key_name: name })).outcome()).toBe("200");
  });

  test("of two received ones of a name, the owner says which", async () => {
    await shareWith(bob);
    await cid.call("protect", { key_name: name, key_value: "cid's" });
    await share({ usr_id_from: cid.email, usr_id_to: bob.email }, cid);
    expect((await leave(bob)).outcome()).toBe("409 ambiguous_name");
    expect((await leave(bob, { owner: "CID@example.com" })).json()).toEqual({ removed: { key_name: name, owner: cid.email } });
    expect((await bob.call("expose_link", { key_name: name })).json().owner).toBe(ann.email);
  });

  test("one's own secret of the same name stays", async () => {
    await shareWith(bob);
    await bob.call("protect", { key_name: name, key_value: "bob's" });
    expect((await leave(bob)).json()).toEqual({ removed: { key_name: name, owner: ann.email } });
    expect((await bob.call("expose", { key_name: name })).json().key_value).toBe("bob's");
  });
});

const states = async (to: readonly string[]) =>
  (await share({ usr_id_to: to })).json().shared.map((each: { state: string }) => each.state);

describe("people who are not there yet", () => {
  test("who has no account or no live session is invited, and told why; who has one is not", async () => {
    expect(await states([bob.email, "new@example.com", "idle@example.com"])).toEqual(["active", "invited", "invited"]);
    expect((await mailTo(vault.mailDirectory, "new@example.com")).text).toContain("Choose a password");
    expect((await mailTo(vault.mailDirectory, "idle@example.com")).text).toContain("log in");
    expect((await receivedMail(vault.mailDirectory)).map(({ to }) => to)).not.toContain(bob.email);
  });

  test("a session lives as long as an access token or the refresh token's 90 days do", async () => {
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

  test("a refused request invites nobody", async () => {
    await share({ key_name: [name, "nowhere"], usr_id_to: "refused@example.com" });
    await share({ usr_id_to: "granted@example.com" });
    await mailTo(vault.mailDirectory, "granted@example.com");
    expect((await receivedMail(vault.mailDirectory)).map(({ to }) => to)).not.toContain("refused@example.com");
  });

  test("what was shared with an address that has no account, directly or through a team, is there after sign-up", async () => {
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
        const answer = await creator.call("share", { ...shareBody(), key_name, ...to });
        expect(answer.json().shared[0].state).toBe("invited");
      }
    }
    await using after = await TestVault.start({ ...stored, emails: ["new@example.com"] });
    const reader = await after.client("new@example.com");
    const seen = (await reader.call("list_no_dup")).json().secrets.map((secret: { key_name: string }) => secret.key_name);
    expect(seen).toEqual(["by team", "direct"]);
    expect((await reader.call("expose_link", { key_name: "direct" })).json().key_value).toBe("value direct");
  });
});
