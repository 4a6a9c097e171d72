import { beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { scopeString, type VaultClient } from "../lab/vault/vault-client.ts";

const clock = new VirtualClock();
const { vault, ann, bob, cid } = await useVault({ clock, more: ["away@example.com"] });
let fresh = 0;
let name: string;
beforeEach(async () => {
  name = `secret-${(fresh += 1)}`;
  await ann.call("unblock_sender", { usr_id_from: [bob.email, cid.email] });
});

const block = (caller: VaultClient, sender: string | string[]) =>
  caller.call("block_sender", { usr_id_from: sender });
const unblock = (caller: VaultClient, sender: string) =>
  caller.call("unblock_sender", { usr_id_from: sender });
const protect = (caller: VaultClient, value: string) =>
  caller.call("protect", { key_name: name, key_value: value });
const grant = (caller: VaultClient, to: object) =>
  caller.call("share", { key_name: name, permission: "RW", usr_id_from: caller.email, ...to });
const isListed = async (caller: VaultClient, owner: VaultClient): Promise<boolean> =>
  (await caller.call("list_no_dup"))
    .json()
    .secrets.some(
      (secret: { key_name: string; owner: string }) =>
        secret.key_name === name && secret.owner === owner.email,
    );

const teams = async (caller: VaultClient): Promise<string[]> =>
  (await caller.call("team_list"))
    .json()
    .teams.map(({ group_id }: { group_id: string }) => group_id);
const tag = async (caller: VaultClient) => (await caller.call("list_no_dup")).headers.etag;

describe("a blocked sender", () => {
  test.each([
    ["directly", () => ({ usr_id_to: ann.email })],
    ["with a team", () => ({ group_id_to: name })],
  ])("shares %s without effect on lists and names, until unblocked", async (_how, to) => {
    await protect(bob, "bob's");
    await bob.call("team_create", { group_id: name, members: [ann.email] });
    await grant(bob, to());
    expect(await isListed(ann, bob)).toBe(true);
    expect((await ann.call("expose_link", { key_name: name })).outcome()).toBe("200");

    expect((await block(ann, bob.email.toUpperCase())).json()).toEqual({ blocked: [bob.email] });
    expect(await isListed(ann, bob)).toBe(false);
    for (const owner of [undefined, bob.email]) {
      for (const operation of [
        "expose_link",
        "version_list_for_link",
        "delete_shared_key_link",
      ] as const) {
        expect((await ann.call(operation, { key_name: name, owner })).outcome()).toBe(
          "404 secret_not_found",
        );
      }
      const update = { key_name: name, owner, key_version: 1, metadata: { a: 1 } };
      expect((await ann.call("update_key_metadata", update)).outcome()).toBe(
        "404 secret_not_found",
      );
      expect(
        (await ann.call("protect_link", { key_name: name, owner, key_value: "x" })).outcome(),
      ).toBe("404 secret_not_found");
    }
    expect((await ann.call("expose", { key_name: name })).outcome()).toBe("404 secret_not_found");

    expect((await unblock(ann, bob.email)).json()).toEqual({ blocked: [] });
    expect(await isListed(ann, bob)).toBe(true);
    expect((await ann.call("expose_link", { key_name: name })).outcome()).toBe("200");
  });

  test("cannot notice it", async () => {
    await protect(bob, "bob's");
    const seen = async () => [
      (await grant(bob, { usr_id_to: ann.email })).json(),
      (await bob.call("share_list", { key_name: name })).json(),
      (await bob.call("expose_link", { key_name: name })).json(),
      (
        await bob.call("team_create", { group_id: `${name}-${fresh}`, members: [ann.email] })
      ).json(),
      (await bob.call("team_list")).json(),
      (await bob.call("team_delete", { group_id: `${name}-${fresh}` })).json(),
    ];
    const before = await seen();
    await block(ann, bob.email);
    expect(await seen()).toEqual(before);
  });

  test("does not make a name ambiguous, and hides no secret of other senders", async () => {
    for (const sender of [bob, cid]) {
      await protect(sender, sender.email);
      await grant(sender, { usr_id_to: ann.email });
    }
    expect((await ann.call("expose_link", { key_name: name })).outcome()).toBe(
      "409 ambiguous_name",
    );
    await block(ann, bob.email);
    expect((await ann.call("expose_link", { key_name: name })).json()).toMatchObject({
      key_value: cid.email,
    });
    expect(await isListed(ann, bob)).toBe(false);
    expect(await isListed(ann, cid)).toBe(true);
    expect(await isListed(bob, bob)).toBe(true);
  });

  test("has teams that the caller neither sees nor shares with", async () => {
    await bob.call("team_create", { group_id: name, members: [ann.email, cid.email] });
    await protect(ann, "ann's");
    await block(ann, bob.email);
    expect((await teams(ann)).includes(name)).toBe(false);
    expect((await teams(cid)).includes(name)).toBe(true);
    expect((await grant(ann, { group_id_to: name })).outcome()).toBe("404 team_not_found");
    await unblock(ann, bob.email);
    expect(await teams(ann)).toContain(name);
    expect((await grant(ann, { group_id_to: name })).outcome()).toBe("200");
  });

  test("causes no email to the user, and the same response", async () => {
    const away = await vault.client("away@example.com", undefined, 1);
    await block(away, bob.email);
    clock.stepWall(91 * 86_400_000);
    await protect(bob, "bob's");
    const omitted = () =>
      vault.metric('vaultsync_vault_emails_total{kind="invitation",outcome="omitted"}');
    expect((await grant(bob, { usr_id_to: away.email })).json().shared[0].state).toBe("invited");
    await expect.poll(omitted).toBe(1);
  });
});

describe("a change of the blocked senders", () => {
  test("gives the list a new tag and wakes it, and leaves the sender's list unchanged", async () => {
    await protect(bob, "bob's");
    await grant(bob, { usr_id_to: ann.email });
    const [anns, bobs] = [await tag(ann), await tag(bob)];
    const waiting = ann.call("list_no_dup", {}, { "if-none-match": anns, prefer: "wait=50" });
    await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(1);
    await block(ann, bob.email);
    const woken = await waiting;
    expect(woken.status).toBe(200);
    expect(woken.headers.etag === anns).toBe(false);
    expect(await tag(bob)).toBe(bobs);
  });

  test("hides the sender's changes from the tag of the list, directly and with a team of theirs", async () => {
    await protect(bob, "bob's");
    await bob.call("team_create", { group_id: `${name}-blocked`, members: [ann.email] });
    await grant(bob, { group_id_to: `${name}-blocked` });
    await grant(bob, { usr_id_to: ann.email });
    await block(ann, bob.email);
    const before = await tag(ann);
    await bob.call("protect_link", { key_name: name, key_value: "2" });
    await bob.call("unshare", { key_name: name });
    await grant(bob, { usr_id_to: ann.email });
    expect(await tag(ann)).toBe(before);
    await unblock(ann, bob.email);
    expect((await tag(ann)) === before).toBe(false);
    expect(await isListed(ann, bob)).toBe(true);
  });

  test("is listed by code point, and blocking again or unblocking a stranger changes nothing", async () => {
    await block(ann, [cid.email, bob.email]);
    await block(ann, bob.email);
    await unblock(ann, "stranger@example.com");
    expect((await ann.call("blocked_senders")).json()).toEqual({ blocked: [bob.email, cid.email] });
    expect((await bob.call("blocked_senders")).json()).toEqual({ blocked: [] });
  });

  test("of the caller or of something that is no address is rejected", async () => {
    for (const sender of [ann.email, [bob.email, ann.email]])
      expect((await block(ann, sender)).outcome()).toBe("403 forbidden");
    for (const sender of ["nobody", "", []])
      expect((await block(ann, sender)).outcome()).toBe("400 invalid_request");
    expect((await ann.call("blocked_senders")).json()).toEqual({ blocked: [] });
  });

  test.each(["block_sender", "unblock_sender", "blocked_senders"] as const)(
    "by %s requires a token of unlimited scope",
    async (operation) => {
      const limited = await vault.client(ann.email, scopeString({ secret_name: ["one"] }));
      expect((await limited.call(operation, { usr_id_from: bob.email })).outcome()).toBe(
        "403 out_of_scope",
      );
    },
  );
});
