import { beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { SharedSecret } from "../lab/vault/shared-secret.ts";
import { scopeString } from "../lab/vault/vault-client.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const clock = new VirtualClock();
let secret: SharedSecret;
const { vault, ann, bob, cid } = await useVault({ clock, more: ["idle@example.com"] });
beforeEach(async () => {
  secret = await SharedSecret.create(ann);
});

describe("unshare", () => {
  test.each([
    ["both kinds of recipient", { usr_id_to: "bob@example.com", group_id_to: "team" }],
    ["an empty list", { usr_id_to: [] }],
    ["an invalid address", { usr_id_to: "bob" }],
    ["no name", { key_name: undefined }],
  ])("rejects %s", async (_what, body) => {
    await secret.shareWith(bob);
    expect((await secret.unshare(body)).outcome()).toBe("400 invalid_request");
    expect(await secret.outcomeOfReading(bob)).toBe("200");
  });

  test("is allowed for the creator only, with the caller as usr_id_from", async () => {
    await secret.shareWith(bob, "RW");
    expect((await secret.unshare({}, bob)).outcome()).toBe("403 forbidden");
    expect((await secret.unshare({}, cid)).outcome()).toBe("404 secret_not_found");
    expect((await secret.unshare({ usr_id_from: bob.email })).outcome()).toBe("403 email_mismatch");
    const narrow = await vault.client(ann.email, scopeString({ secret_name: ["other"] }));
    expect((await secret.unshare({}, narrow)).outcome()).toBe("403 out_of_scope");
    expect((await secret.unshare({ key_name: [secret.name, "nowhere"] })).outcome()).toBe(
      "404 secret_not_found",
    );
    expect(await secret.outcomeOfReading(bob)).toBe("200");
  });

  test("revokes the named grants, or all; a secret without grants is unshared", async () => {
    await secret.share({ usr_id_to: [cid.email, bob.email], permission: "RW" });
    const one = await secret.unshare({
      usr_id_from: ann.email,
      usr_id_to: ["BOB@example.com", "unknown@example.com"],
    });
    expect(one.outcome()).toBe("200");
    expect(one.json()).toEqual({ unshared: [{ key_name: secret.name, from: bob.email }] });
    expect(await secret.outcomeOfReading(bob)).toBe("404 secret_not_found");
    expect(await secret.outcomeOfReading(cid)).toBe("200");
    expect(await secret.listedFor(ann)).toEqual([[ann.email, "RW", true]]);
    await secret.shareWith(bob);
    const rest = await secret.unshare({ key_name: [secret.name] });
    const from = (email: string) => ({ key_name: secret.name, from: email });
    expect(rest.json()).toEqual({ unshared: [from(bob.email), from(cid.email)] });
    expect(await secret.outcomeOfReading(bob)).toBe("404 secret_not_found");
    expect(await secret.outcomeOfReading(cid)).toBe("404 secret_not_found");
    expect(await secret.listedFor(ann)).toEqual([[ann.email, "RW", false]]);
  });

  test("responds with an empty list when there is nothing to unshare", async () => {
    for (const body of [{}, { usr_id_to: bob.email }, { group_id_to: "no such team" }]) {
      const response = await secret.unshare(body);
      expect(response.outcome()).toBe("200");
      expect(response.json()).toEqual({ unshared: [] });
    }
  });
});

describe("delete_shared_key_link", () => {
  test("is secret_not_found for own secrets and for secrets not shared with the caller", async () => {
    await secret.shareWith(bob);
    expect((await secret.dismiss(ann)).outcome()).toBe("404 secret_not_found");
    expect((await secret.dismiss(cid)).outcome()).toBe("404 secret_not_found");
    expect((await secret.dismiss(bob, { owner: cid.email })).outcome()).toBe(
      "404 secret_not_found",
    );
    expect((await secret.dismiss(bob, { key_name: ["x"] })).outcome()).toBe("400 invalid_request");
    const narrow = await vault.client(bob.email, scopeString({ secret_name: ["other"] }));
    expect((await secret.dismiss(narrow)).outcome()).toBe("403 out_of_scope");
    expect(await secret.outcomeOfReading(bob)).toBe("200");
  });

  test("removes the secret for the caller only, until it is shared again", async () => {
    await secret.share({ usr_id_to: [bob.email, cid.email] });
    const response = await secret.dismiss(bob);
    expect(response.outcome()).toBe("200");
    expect(response.json()).toEqual({ removed: { key_name: secret.name, owner: ann.email } });
    expect(await secret.outcomeOfReading(bob)).toBe("404 secret_not_found");
    expect(await secret.listedFor(bob)).toEqual([]);
    expect(await secret.outcomeOfReading(cid)).toBe("200");
    expect(await secret.outcomeOfReading(ann)).toBe("200");
    expect((await secret.dismiss(bob)).outcome()).toBe("404 secret_not_found");
    await secret.shareWith(bob);
    expect(await secret.outcomeOfReading(bob)).toBe("200");
  });

  test("leaves the secret unshared when the last grantee dismisses it, also with W only", async () => {
    await secret.shareWith(bob, "W");
    expect((await secret.dismiss(bob)).outcome()).toBe("200");
    expect(await secret.listedFor(ann)).toEqual([[ann.email, "RW", false]]);
    expect((await ann.call("expose", { key_name: secret.name })).outcome()).toBe("200");
  });

  test("requires the owner when two secrets of the name were received", async () => {
    await secret.shareWith(bob);
    await cid.call("protect", { key_name: secret.name, key_value: "cid's" });
    await secret.share({ usr_id_from: cid.email, usr_id_to: bob.email }, cid);
    expect((await secret.dismiss(bob)).outcome()).toBe("409 ambiguous_name");
    expect((await secret.dismiss(bob, { owner: "CID@example.com" })).json()).toEqual({
      removed: { key_name: secret.name, owner: cid.email },
    });
    expect((await bob.call("expose_link", { key_name: secret.name })).json().owner).toBe(ann.email);
  });

  test("keeps the caller's own secret of the same name", async () => {
    await secret.shareWith(bob);
    await bob.call("protect", { key_name: secret.name, key_value: "bob's" });
    expect((await secret.dismiss(bob)).json()).toEqual({
      removed: { key_name: secret.name, owner: ann.email },
    });
    expect((await bob.call("expose", { key_name: secret.name })).json().key_value).toBe("bob's");
  });
});
