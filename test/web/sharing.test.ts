import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";
import { addSecondVersion } from "./support/pages.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

async function bobsPermissions(): Promise<string[]> {
  return (await users.bob.call("list_no_dup"))
    .json()
    .secrets.map((secret: { permission: string }) => secret.permission);
}

/** Lets a page take the vault for one that sends emails; the test's vault writes them to files. */
async function withSmtpServer(page: Page): Promise<void> {
  await page.route("**/app/session", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ json: { ...(await response.json()), email_delivery: "smtp" } });
  });
}

describe("sharing section", () => {
  test("shares with a user and a team, and stops sharing with one and with everyone", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    await users.ann.call("team_create", {
      group_id: "checkout",
      members: [bob, "new@example.com"],
    });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByText("Only you have access.").waitFor();
    const [to, share] = [
      page.getByLabel("User or team", { exact: true }),
      page.getByRole("button", { name: "Share", exact: true }),
    ];
    const grants = page.getByRole("list", { name: "Shared with" }).getByRole("listitem");
    const words = () => grants.locator("span:not(.badges)").allTextContents();
    await to.fill("checkout");
    await share.click();
    await page.getByRole("dialog").getByRole("button", { name: "Invite and share" }).click();
    await expect.poll(words).toEqual(["checkout", "Team", "Read", "Some members not active"]);
    await to.fill(bob);
    await page.getByLabel("Permission", { exact: true }).selectOption("RW");
    await share.click();
    await expect
      .poll(words)
      .toEqual([
        bob,
        "User",
        "Read and write",
        "Active",
        "checkout",
        "Team",
        "Read",
        "Some members not active",
      ]);
    expect(await bobsPermissions()).toEqual(["RW"]);
    await page.reload();
    await page.getByRole("button", { name: `Stop sharing with ${bob}` }).click();
    await page.getByRole("dialog").getByText(`${bob} loses access immediately.`).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Stop sharing" }).click();
    await page.getByText(`Stopped sharing with ${bob}.`).waitFor();
    await expect.poll(words).toEqual(["checkout", "Team", "Read", "Some members not active"]);
    expect(await bobsPermissions()).toEqual(["R"]);
    await page.getByRole("button", { name: "Stop sharing with everyone" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop sharing" }).click();
    await page.getByText("Only you have access.").waitFor();
    expect(await bobsPermissions()).toEqual([]);
    await users.ann.call("team_delete", { group_id: "checkout" });
  });

  test("asks before it invites an address, and shares nothing until then", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const recipients = page.getByLabel("User or team", { exact: true });
    const share = page.getByRole("button", { name: "Share", exact: true });
    const grants = page.getByRole("list", { name: "Shared with" }).getByRole("listitem");
    const dialog = page.getByRole("dialog");
    await recipients.fill("bob@example.com, checkout");
    await share.click();
    await page.getByText("“checkout” is not an email address.").waitFor();
    await recipients.fill(`${bob}, Bob@exmaple.com`);
    await share.click();
    // Who of several strangers has an account is not shown.
    await expect
      .poll(() => dialog.getByRole("listitem").allTextContents())
      .toEqual([bob, "bob@exmaple.com"]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect((await users.ann.call("share_list", { key_name: "shop-db" })).json().shares).toEqual([]);
    expect(await recipients.inputValue()).toBe(`${bob}, Bob@exmaple.com`);
    await share.click();
    await dialog.getByRole("button", { name: "Invite and share" }).click();
    await page.getByText("Shared with 2 users.").waitFor();
    await expect.poll(() => grants.count()).toBe(2);
    // Who was typed once is not known: the address may be a typing error.
    await recipients.fill("bob@exmaple.com");
    await page.getByLabel("Permission", { exact: true }).selectOption("RW");
    await share.click();
    await dialog.getByText("bob@exmaple.com").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await recipients.fill(bob);
    await share.click();
    await grants.filter({ hasText: bob }).getByText("Read and write").waitFor();
  });

  test("offers another user's team only after the user said to know it", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    await users.bob.call("team_create", { group_id: "platform", members: [ann] });
    await users.ann.call("team_create", { group_id: "mine", members: [bob] });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const recipients = page.getByLabel("User or team", { exact: true });
    const offered = page.locator("datalist option");
    const share = page.getByRole("button", { name: "Share", exact: true });
    const shares = async () =>
      (await users.ann.call("share_list", { key_name: "shop-db" })).json().shares;
    await expect
      .poll(() => offered.evaluateAll((all) => all.map((one) => one.getAttribute("value"))))
      .toEqual(["mine", bob]);
    await recipients.fill("platform");
    const box = page.getByLabel("I know this team.");
    await page.getByText(`${bob} can add members, who then have access, too.`).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await share.click();
    expect(await box.evaluate((input) => input.matches(":invalid"))).toBe(true);
    expect(await shares()).toEqual([]);
    await box.check();
    await share.click();
    await page.getByText("Shared with platform.").waitFor();
    expect(await shares()).toMatchObject([{ to: "platform" }]);
    await expect
      .poll(() => offered.evaluateAll((all) => all.map((one) => one.getAttribute("value"))))
      .toEqual(["mine", "platform", bob]);
    await recipients.fill("platform");
    await page.getByText("a team of bob@example.com").waitFor();
    expect(await box.count()).toBe(0);
    await users.ann.call("team_delete", { group_id: "mine" });
    await users.bob.call("team_delete", { group_id: "platform" });
  });

  test("does not take one team for another whose name has the same checksum", async () => {
    // With Bob's address before them, the names have the same FNV-1a checksum of 32 bits.
    const [known, similar] = ["1m9s1i3-team", "siwe4m-team"];
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    for (const group_id of [known, similar])
      await users.bob.call("team_create", { group_id, members: [ann] });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const recipients = page.getByLabel("User or team", { exact: true });
    await recipients.fill(known);
    await page.getByLabel("I know this team.").check();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByText(`Shared with ${known}.`).waitFor();
    const offered = page.locator("datalist option");
    await expect
      .poll(() => offered.evaluateAll((all) => all.map((one) => one.getAttribute("value"))))
      .toEqual([known, bob]);
    await recipients.fill(similar);
    await page.getByLabel("I know this team.").waitFor();
    for (const group_id of [known, similar]) await users.bob.call("team_delete", { group_id });
  });

  test("asks before it shares with a team whose members may have no account", async () => {
    const typo = "robbin@exmaple.com";
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    await users.ann.call("team_create", { group_id: "testers", members: [bob, typo] });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const dialog = page.getByRole("dialog");
    await page.getByLabel("User or team", { exact: true }).fill("testers");
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await dialog.getByRole("listitem").getByText(typo).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByLabel("User or team", { exact: true }).fill(typo);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await dialog.getByRole("listitem").getByText(typo).waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect((await users.ann.call("share_list", { key_name: "shop-db" })).json().shares).toEqual([]);
    await page.getByLabel("User or team", { exact: true }).fill("testers");
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await dialog.getByRole("button", { name: "Invite and share" }).click();
    await page.getByText("Shared with testers.").waitFor();
    await users.ann.call("team_delete", { group_id: "testers" });
  });

  test("does not ask about a user whom the vault has seen, although the session ended", async () => {
    await users.bob.call("protect", { key_name: "mail", key_value: "v" });
    await users.bob.call("share", {
      key_name: "mail",
      permission: "R",
      usr_id_from: bob,
      usr_id_to: ann,
    });
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await page.route("**/v1/user/secret/share", (route) =>
      route.request().postDataJSON().invite === false
        ? route.fulfill({
            status: 409,
            contentType: "application/json",
            body: JSON.stringify({
              error: {
                code: "invitation_required",
                message: "a recipient would be invited",
                details: [{ path: "usr_id_to.0", reason: "would be invited" }],
              },
            }),
          })
        : route.continue(),
    );
    await go(secretRoute(ann, "shop-db"));
    await page.getByLabel("User or team", { exact: true }).fill(bob);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByText(`Shared with ${bob}.`).waitFor();
  });

  test("offers the link of the page, which who may only write needs, and their page says so", async () => {
    await users.ann.call("protect", { key_name: "box", key_value: "v" });
    const permissions = ["clipboard-read", "clipboard-write"];
    const { page, go } = await browser.visit(users.vault, { as: ann, permissions });
    await go(secretRoute(ann, "box"));
    await page.getByLabel("User or team", { exact: true }).fill(bob);
    await page.getByLabel("Permission", { exact: true }).selectOption("W");
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByText("Send them the link to this page.").waitFor();
    await page.getByRole("button", { name: "Copy link for recipients" }).click();
    await page.getByText("Copied link for recipients.").waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const recipient = await browser.visit(users.vault, { as: bob });
    await recipient.page.goto(link);
    await recipient.page.getByRole("heading", { name: "Write-only access" }).waitFor();
    expect(await recipient.page.locator(".note").count()).toBe(0);
    await users.ann.call("unshare", { key_name: "box" });
    await recipient.page.reload();
    await recipient.page.getByText("This secret is not shared with you").waitFor();
    expect(await recipient.page.getByRole("button", { name: "Add version" }).count()).toBe(0);
  });

  test("changes the permission of a user and of a team", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    await users.ann.call("team_create", { group_id: "cashiers", members: ["new@example.com"] });
    for (const recipient of [{ usr_id_to: bob }, { group_id_to: "cashiers" }])
      await users.ann.call("share", {
        key_name: "shop-db",
        permission: "R",
        usr_id_from: ann,
        ...recipient,
      });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await withSmtpServer(page);
    await go(secretRoute(ann, "shop-db"));
    const dialog = page.getByRole("dialog");
    const grants = page.getByRole("list", { name: "Shared with" }).getByRole("listitem");
    for (const [grantee, mailed] of [
      [bob, 0],
      ["cashiers", 1],
    ] as const) {
      const change = page.getByRole("button", { name: `Change permission of ${grantee}` });
      await change.click();
      expect(await dialog.getByLabel("Permission").inputValue()).toBe("R");
      await expect.poll(() => dialog.getByText("another invitation email").count()).toBe(mailed);
      await dialog.getByLabel("Permission").selectOption("RW");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText(`Changed the permission of ${grantee}.`).waitFor();
      await grants.filter({ hasText: grantee }).getByText("Read and write").waitFor();
      await dialog.waitFor({ state: "detached" });
      expect(await change.evaluate((button) => button === document.activeElement)).toBe(true);
    }
    expect(await bobsPermissions()).toEqual(["RW"]);
    const { shares } = (await users.ann.call("share_list", { key_name: "shop-db" })).json();
    expect(shares.map(({ permission }: { permission: string }) => permission)).toEqual([
      "RW",
      "RW",
    ]);
    await users.ann.call("team_delete", { group_id: "cashiers" });
  });

  test("pages recipients by ten and leaves an empty last page", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    const recipients = Array.from({ length: 11 }, (_, index) => `p${index + 10}@example.com`);
    await users.ann.call("share", {
      key_name: "shop-db",
      permission: "W",
      usr_id_from: ann,
      usr_id_to: recipients,
    });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const grants = page.getByRole("list", { name: "Shared with" }).getByRole("listitem");
    await page.getByText("1 to 10 of 11").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Stop sharing with p20@example.com" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop sharing" }).click();
    await expect.poll(() => grants.count()).toBe(10);
    expect(await page.getByText("1 to 10 of 11").count()).toBe(0);
  });
});

async function shareWithAnn(permission: string): Promise<void> {
  await users.bob.call("protect", { key_name: "mail", key_value: "bob's value" });
  await users.bob.call("share", { key_name: "mail", permission, usr_id_from: bob, usr_id_to: ann });
}

describe("a vault without an SMTP server", () => {
  test("claims no email: it says how to invite a user, and who has the link", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByLabel("User or team", { exact: true }).fill("newbie@example.com");
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("This vault sends no email").waitFor();
    await dialog.getByText(`sign up at ${users.vault.url}`).waitFor();
    await dialog.getByRole("button", { name: "Invite and share" }).click();
    await page.getByText("Invited", { exact: true }).waitFor();
    expect(await page.getByText("by email").count()).toBe(0);
    const stranger = await browser.visit(users.vault);
    await stranger.go("/forgot-password");
    await stranger.page.getByText("This vault sends no email").waitFor();
    await stranger.page.getByLabel("Email address").fill("newbie@example.com");
    await stranger.page.getByRole("button", { name: "Request the link" }).click();
    await stranger.page.getByText("Ask the operator of this vault for the link").waitFor();
    expect(await accessibilityViolations(stranger.page)).toEqual([]);
  });

  test("is not assumed when it has one", async () => {
    const { page, go } = await browser.visit(users.vault);
    await withSmtpServer(page);
    await go("/forgot-password");
    await page.getByText("We send you an email").waitFor();
    await page.getByRole("button", { name: "Send me the link" }).waitFor();
  });
});

describe("received secret", () => {
  test("with R permission can be revealed and removed from the list, but not changed", async () => {
    await shareWithAnn("R");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(bob, "mail"));
    await page.getByRole("button", { name: "Reveal value" }).click();
    await page.getByText("bob's value").waitFor();
    for (const name of [
      "New version",
      "Edit metadata",
      "Share",
      "Delete secret",
      "Delete version 1",
    ]) {
      expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
    }
    await page.getByRole("button", { name: "Remove from my list" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove from my list" }).click();
    await page.getByText("No secrets yet").waitFor();
    expect((await users.bob.call("list_no_dup")).json().secrets).toHaveLength(1);
  });

  test("with RW permission accepts a new version", async () => {
    await shareWithAnn("RW");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(bob, "mail"));
    await addSecondVersion(page, "ann's value");
    expect((await users.bob.call("expose_link", { key_name: "mail" })).json().key_value).toBe(
      "ann's value",
    );
  });

  test("with W permission is not listed, but its page accepts a new version", async () => {
    await shareWithAnn("W");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(bob, "mail"));
    await page.getByLabel("New value").fill("ann's value");
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByText("Added version 2 of mail.").waitFor();
    expect((await users.bob.call("expose_link", { key_name: "mail" })).json().key_value).toBe(
      "ann's value",
    );
  });

  test("and an own secret of the same name are shown separately", async () => {
    await shareWithAnn("R");
    await users.ann.call("protect", { key_name: "mail", key_value: "ann's own" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    for (const [owner, value] of [
      [ann, "ann's own"],
      [bob, "bob's value"],
    ] as const) {
      await go(secretRoute(owner, "mail"));
      await page.getByRole("button", { name: "Reveal value" }).click();
      await expect.poll(() => page.getByLabel("Value", { exact: true }).textContent()).toBe(value);
    }
  });
});
