import { beforeEach, describe, expect, test } from "vitest";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { mailTo, receivedMail } from "../lab/mail/smtp-server.ts";
import { SharedSecret } from "../lab/vault/shared-secret.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData } from "../lab/vault/vault-data.ts";
import { useVault } from "../lab/vault/use-vault.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const clock = new VirtualClock();
let secret: SharedSecret;
const { vault, ann, bob } = await useVault({ clock, more: ["idle@example.com"] });
beforeEach(async () => {
  secret = await SharedSecret.create(ann);
});

const states = async (to: readonly string[]) =>
  (await secret.share({ usr_id_to: to }))
    .json()
    .shared.map((each: { state: string }) => each.state);

const shareWith = async (caller: VaultClient, usr_id_to: readonly string[]) => {
  await caller.call("protect", { key_name: "a", key_value: "v" });
  return (
    await caller.call("share", {
      key_name: "a",
      permission: "R",
      usr_id_from: caller.email,
      usr_id_to,
    })
  ).status;
};

describe("sharing with users who are not logged in", () => {
  test("invites users without an account or a valid session, and no others", async () => {
    expect(await states([bob.email, "new@example.com", "idle@example.com"])).toEqual([
      "active",
      "invited",
      "invited",
    ]);
    expect((await mailTo(vault.mailDirectory, "new@example.com")).text).toContain(
      "choose a password",
    );
    expect((await mailTo(vault.mailDirectory, "idle@example.com")).text).toContain("log in");
    expect((await receivedMail(vault.mailDirectory)).map(({ to }) => to)).not.toContain(bob.email);
  });

  test("shares nothing with invite: false when a recipient would be invited, and sends no email", async () => {
    const invite = false;
    const response = await secret.share({ usr_id_to: [bob.email, "Absent@example.com"], invite });
    expect(response.outcome()).toBe("409 invitation_required");
    expect(response.json().error.details).toEqual([
      { path: "usr_id_to", reason: "some recipients would be invited" },
    ]);
    expect(await secret.outcomeOfReading(bob)).toBe("404 secret_not_found");
    expect((await receivedMail(vault.mailDirectory)).map(({ to }) => to)).not.toContain(
      "absent@example.com",
    );
    expect((await secret.share({ usr_id_to: [bob.email], invite })).json().shared[0].state).toBe(
      "active",
    );
    const team = `team-of-${secret.name}`;
    await ann.call("team_create", { group_id: team, members: ["absent@example.com"] });
    const withTeam = await secret.share({ group_id_to: team, invite });
    expect(withTeam.json().error.details).toEqual([
      { path: "group_id_to", reason: "would be invited" },
    ]);
    expect((await secret.share({ group_id_to: team, invite: true })).outcome()).toBe("200");
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
    await secret.share({ key_name: [secret.name, "nowhere"], usr_id_to: "refused@example.com" });
    await secret.share({ usr_id_to: "granted@example.com" });
    await mailTo(vault.mailDirectory, "granted@example.com");
    expect((await receivedMail(vault.mailDirectory)).map(({ to }) => to)).not.toContain(
      "refused@example.com",
    );
  });

  test("invites one recipient once a week per sender, and 50 recipients an hour", async () => {
    await using other = await TestVault.start({
      clock,
      emails: ["ann@example.com", "bob@example.com"],
    });
    const sent = async () => (await receivedMail(other.mailDirectory)).length;
    const [one, two] = [
      await other.client("ann@example.com", undefined, 1e6),
      await other.client("bob@example.com", undefined, 1e6),
    ];
    for (let repeat = 0; repeat < 5; repeat += 1)
      expect(await shareWith(one, ["new@example.com"])).toBe(200);
    await expect.poll(sent).toBe(1);
    await shareWith(two, ["new@example.com"]);
    await expect.poll(sent).toBe(2);
    const many = Array.from({ length: 60 }, (_, index) => `recipient${index}@example.com`);
    expect(await shareWith(one, many)).toBe(200);
    await expect.poll(sent).toBe(2 + 49);
    clock.stepWall(HOUR);
    await shareWith(one, many);
    await expect.poll(sent).toBe(2 + 60);
    clock.stepWall(7 * DAY - 2 * HOUR);
    await shareWith(one, ["new@example.com"]);
    clock.stepWall(HOUR);
    await shareWith(one, ["new@example.com"]);
    await expect.poll(sent).toBe(3 + 60);
  });

  test("shows secrets shared with an address, directly or through a team, after sign-up", async () => {
    await using data = await createVaultData();
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
        const response = await creator.call("share", {
          usr_id_from: ann.email,
          permission: "R",
          key_name,
          ...to,
        });
        expect(response.json().shared[0].state).toBe("invited");
      }
    }
    await using after = await TestVault.start({ ...stored, emails: ["new@example.com"] });
    const reader = await after.client("new@example.com");
    const seen = (await reader.call("list_no_dup"))
      .json()
      .secrets.map((each: { key_name: string }) => each.key_name);
    expect(seen).toEqual(["by team", "direct"]);
    expect((await reader.call("expose_link", { key_name: "direct" })).json().key_value).toBe(
      "value direct",
    );
  });
});
