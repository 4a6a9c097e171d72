import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Canaries } from "../support/assertions/canary.ts";
import { fillVault } from "../support/vault/fill-vault.ts";
import { TestVault } from "../support/vault/test-vault.ts";
import type { VaultClient } from "../support/vault/vault-client.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const [ann, bob] = ["ann@example.com", "bob@example.com"];

let vault: TestVault;
let anns: VaultClient;
let bobs: VaultClient;
beforeAll(async () => {
  vault = await TestVault.start();
  [anns, bobs] = [await vault.client(ann), await vault.client(bob)];
});
afterAll(() => vault[Symbol.asyncDispose]());

/** Each test starts without secrets. */
beforeEach(async () => {
  for (const caller of [anns, bobs]) {
    const secrets: { key_name: string; owner: string }[] = (await caller.call("list_no_dup")).json().secrets;
    const own = secrets.filter(({ owner }) => owner === caller.email).map(({ key_name }) => key_name);
    if (own.length > 0) await caller.call("delete", { key_name: own });
  }
});

function secretRoute(owner: string, name: string): string {
  return `/secrets/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
}

describe("the list", () => {
  test("is searched, filtered and sorted", async () => {
    await anns.call("protect", {
      key_name: "api-key",
      key_value: "v",
      metadata: { environment_type: "prod", expiration_time: 90 },
    });
    await anns.call("protect", { key_name: "shop-db", key_value: "v", metadata: { description: "orders", expiration_time: 1 } });
    await bobs.call("protect", { key_name: "mail", key_value: "v" });
    await bobs.call("share", { key_name: "mail", permission: "R", usr_id_from: bob, usr_id_to: ann });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/secrets");
    const names = () => page.locator("tbody a").allTextContents();
    await expect.poll(names).toEqual(["api-key", "mail", "shop-db"]);
    await page.getByLabel("Shared with me").check({ force: true });
    await expect.poll(names).toEqual(["mail"]);
    await page.getByLabel("All", { exact: true }).check({ force: true });
    await page.getByLabel("Sort by").selectOption("Expires next");
    await expect.poll(names).toEqual(["shop-db", "mail", "api-key"]);
    await page.getByLabel("Search secrets").fill("environment_type:prod");
    await expect.poll(names).toEqual(["api-key"]);
    await page.getByLabel("Search secrets").fill("no such words");
    await page.getByText("No matches").waitFor();
    await page.getByLabel("Search secrets").fill("orders");
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("link", { name: "All secrets" }).click();
    expect(await page.getByLabel("Search secrets").inputValue()).toBe("orders");
  });

  test("says of each secret whose it is, what one may, and when it ends", async () => {
    await bobs.call("protect", { key_name: "mail", key_value: "v", metadata: { expiration_time: 0 }, delete_time: 60 * 24 * 3 });
    await bobs.call("share", { key_name: "mail", permission: "RW", usr_id_from: bob, usr_id_to: ann });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/secrets");
    const row = page.getByRole("row", { name: "mail" });
    for (const text of [bob, "Read and write", "Expired", "Deleted in 3 days"]) await row.getByText(text).first().waitFor();
    expect(await row.getByText("in 3 days").getAttribute("title")).toMatch(/20\d\d/u);
  });

  test("of ten thousand stays in pages of fifty, and is searched as one", async () => {
    const directory = await mkdtemp(join(tmpdir(), "vault-web-"));
    browser.keep({ [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) });
    const data = join(directory, "vault.db");
    const large = browser.keep(await TestVault.start({ data, emails: [ann] }));
    fillVault(data, ann, 10_000, Date.now());
    const { page, go } = await browser.visit(large, { as: ann });
    await go("/secrets");
    await page.getByText("1 to 50 of 10,000").waitFor();
    expect(await page.locator("tbody tr").count()).toBe(50);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("link", { name: "listed-000050" }).waitFor();
    await page.getByLabel("Search secrets").fill("listed-00999");
    await page.getByText("1 to 10 of 10").waitFor();
  });
});

describe("making a secret", () => {
  test("with metadata, names of one's own and a time of removal", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/secrets");
    await page.getByText("No secrets yet").waitFor();
    await go("/new-secret");
    await page.getByLabel("Name").fill("shop/db #1");
    await page.getByLabel("Value").fill("line one\n  line two\n");
    await page.getByText("Metadata and lifetime").click();
    await page.getByLabel("Description").fill("orders");
    await page.getByLabel("Environment").fill("prod");
    await page.getByLabel("Expires after (days)").fill("30");
    await page.getByRole("button", { name: "Add field" }).click();
    await page.locator('[name="custom-name"]').fill("rotation");
    await page.locator('[name="custom-value"]').fill('{"days": 30}');
    await page.getByLabel("Delete after").fill("2");
    await page.getByLabel("Unit").selectOption("hours");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("heading", { level: 1, name: "shop/db #1" }).waitFor();
    const [record] = (await anns.call("list_no_dup")).json().secrets;
    expect(record).toMatchObject({
      delete_time: 120,
      metadata: { description: "orders", environment_type: "prod", cloud_type: "aws" },
    });
    expect(record.metadata).toMatchObject({ expiration_time: 30, rotation: { days: 30 } });
    expect((await anns.call("expose", { key_name: "shop/db #1" })).json().key_value).toBe("line one\n  line two\n");
  });

  test("under a name one has already is refused before anything is sent", async () => {
    await anns.call("protect", { key_name: "shop-db", key_value: "first" });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/new-secret");
    await page.getByLabel("Name").fill("shop-db");
    await page.getByLabel("Value").fill("second");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("alert").getByText("already").waitFor();
    expect((await anns.call("expose", { key_name: "shop-db" })).json()).toMatchObject({ key_version: 1, key_value: "first" });
  });

  test("what the service finds wrong stands at the field", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/new-secret");
    await page.getByLabel("Name").fill("x".repeat(300));
    await page.getByRole("button", { name: "Create secret" }).click();
    await expect.poll(() => page.getByLabel("Name").getAttribute("aria-invalid")).toBe("true");
    await page.getByText("at most 256 characters").waitFor();
  });
});

describe("a value", () => {
  test("is in the page only between asking for it and hiding it, and for 30 seconds at most", async () => {
    const value = new Canaries().text("value");
    await anns.call("protect", { key_name: "shop-db", key_value: value });
    const { page, go } = await browser.visit(vault, { as: ann });
    await page.clock.install();
    const requested: string[] = [];
    page.on("request", (request) => requested.push(request.url()));
    await go(secretRoute(ann, "shop-db"));
    const reveal = page.getByRole("button", { name: "Reveal value" });
    await reveal.waitFor();
    expect(await page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.getByRole("button", { name: "Hide value" }).click();
    await expect.poll(() => page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.clock.fastForward(29_000);
    expect(await page.content()).toContain(value);
    await page.clock.fastForward(1_000);
    await expect.poll(() => page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide")));
    await expect.poll(() => page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.getByRole("link", { name: "Teams" }).click();
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor();
    expect(await page.content()).not.toContain(value);
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
    expect(requested.join("\n")).not.toContain(value);
  });

  test("is copied without being shown", async () => {
    const value = new Canaries().text("value");
    await anns.call("protect", { key_name: "shop-db", key_value: value });
    const { page, go } = await browser.visit(vault, { as: ann, permissions: ["clipboard-read", "clipboard-write"] });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Copy value" }).click();
    await page.getByRole("status").getByText("Copied value.").waitFor();
    expect(await page.content()).not.toContain(value);
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(value);
  });

  test("may look like markup and stays text", async () => {
    const value = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
    await anns.call("protect", { key_name: "<b>bold</b>", key_value: value, metadata: { "<i>": value } });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "<b>bold</b>"));
    await page.getByRole("button", { name: "Reveal value" }).click();
    await expect.poll(() => page.getByLabel("Value", { exact: true }).textContent()).toBe(value);
    expect(await page.title()).toBe("<b>bold</b> · Vaultsync");
  });
});

const bobsList = async () =>
  (await bobs.call("list_no_dup")).json().secrets.map((secret: { permission: string }) => secret.permission);

describe("one's own secret", () => {
  test("gets new versions, each with its value, and loses one on request", async () => {
    await anns.call("protect", { key_name: "shop-db", key_value: "first value" });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "New version" }).click();
    await page.getByLabel("New value").fill("second value");
    await page.getByRole("button", { name: "Add version" }).click();
    const [second, first] = [
      page.getByRole("listitem").filter({ hasText: "Version 2" }),
      page.getByRole("listitem").filter({ hasText: "Version 1" }),
    ];
    await second.getByText("Latest").waitFor();
    await first.getByRole("button", { name: "Reveal value" }).click();
    await page.getByText("first value").waitFor();
    await page.getByRole("button", { name: "Delete version 2" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete version" }).click();
    await first.getByText("Latest").waitFor();
    expect((await anns.call("version_list", { key_name: "shop-db" })).json().versions).toHaveLength(1);
  });

  test("has its metadata changed by name, the others kept", async () => {
    await anns.call("protect", { key_name: "shop-db", key_value: "v", metadata: { team: "blue", count: 3, text: "10" } });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Edit metadata" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Classification").fill("secret");
    await dialog.locator('[name="custom-value"]').first().fill("[1, 2]");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved metadata.").waitFor();
    const [record] = (await anns.call("list_no_dup")).json().secrets;
    expect(record.metadata).toMatchObject({ classification: "secret", cloud_type: "aws", team: [1, 2], count: 3, text: "10" });
  });

  test("is shared with a person and a team, and taken back from one and from everybody", async () => {
    await anns.call("protect", { key_name: "shop-db", key_value: "v" });
    await anns.call("team_create", { group_id: "checkout", members: [bob, "new@example.com"] });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByText("Only you have access.").waitFor();
    const [to, share] = [page.getByLabel("User or team"), page.getByRole("button", { name: "Share", exact: true })];
    const grants = page.getByRole("list", { name: "Shared with" }).getByRole("listitem");
    const words = () => grants.locator("span:not(.badges)").allTextContents();
    await to.fill("checkout");
    await share.click();
    await expect.poll(words).toEqual(["checkout", "Team", "Read", "Invited by email"]);
    await to.fill(bob);
    await page.getByLabel("Permission", { exact: true }).selectOption("RW");
    await share.click();
    await expect.poll(words).toEqual([bob, "User", "Read and write", "Active", "checkout", "Team", "Read", "Invited by email"]);
    expect(await bobsList()).toEqual(["RW"]);
    await page.reload();
    await page.getByRole("button", { name: `Stop sharing with ${bob}` }).click();
    await page.getByRole("dialog").getByText(`${bob} loses access immediately.`).waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Stop sharing" }).click();
    await page.getByText(`Stopped sharing with ${bob}.`).waitFor();
    await expect.poll(words).toEqual(["checkout", "Team", "Read", "Invited by email"]);
    expect(await bobsList()).toEqual(["R"]);
    await page.getByRole("button", { name: "Stop sharing with everyone" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop sharing" }).click();
    await page.getByText("Only you have access.").waitFor();
    expect(await bobsList()).toEqual([]);
    await anns.call("team_delete", { group_id: "checkout" });
  });

  test("has the permission of a person and of a team changed", async () => {
    await anns.call("protect", { key_name: "shop-db", key_value: "v" });
    await anns.call("team_create", { group_id: "cashiers", members: ["new@example.com"] });
    for (const recipient of [{ usr_id_to: bob }, { group_id_to: "cashiers" }])
      await anns.call("share", { key_name: "shop-db", permission: "R", usr_id_from: ann, ...recipient });
    const { page, go } = await browser.visit(vault, { as: ann });
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
      expect(await dialog.getByText("another invitation email").count()).toBe(mailed);
      await dialog.getByLabel("Permission").selectOption("RW");
      await dialog.getByRole("button", { name: "Save" }).click();
      await page.getByText(`Changed the permission of ${grantee}.`).waitFor();
      await grants.filter({ hasText: grantee }).getByText("Read and write").waitFor();
      await dialog.waitFor({ state: "detached" });
      expect(await change.evaluate((button) => button === document.activeElement)).toBe(true);
    }
    expect(await bobsList()).toEqual(["RW"]);
    const { shares } = (await anns.call("share_list", { key_name: "shop-db" })).json();
    expect(shares.map(({ permission }: { permission: string }) => permission)).toEqual(["RW", "RW"]);
    await anns.call("team_delete", { group_id: "cashiers" });
  });

  test("shared with many, shows ten of them at a time, and no empty page", async () => {
    await anns.call("protect", { key_name: "shop-db", key_value: "v" });
    const people = Array.from({ length: 11 }, (_, index) => `p${index + 10}@example.com`);
    await anns.call("share", { key_name: "shop-db", permission: "W", usr_id_from: ann, usr_id_to: people });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const grants = page.getByRole("list", { name: "Shared with" }).getByRole("listitem");
    await page.getByText("1 to 10 of 11").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Stop sharing with p20@example.com" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop sharing" }).click();
    await expect.poll(() => grants.count()).toBe(10);
    expect(await page.getByText("1 to 10 of 11").count()).toBe(0);
  });

  test("still reveals and takes versions while it is shared", async () => {
    await anns.call("protect", { key_name: "shop-db", key_value: "first value" });
    await anns.call("share", { key_name: "shop-db", permission: "R", usr_id_from: ann, usr_id_to: bob });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "New version" }).click();
    await page.getByLabel("New value").fill("second value");
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByRole("heading", { name: "Version 2" }).waitFor();
    await page.getByRole("button", { name: "Reveal value" }).first().click();
    await page.getByText("second value").waitFor();
  });

  test("is deleted once that is confirmed, and not before", async () => {
    await anns.call("protect", { key_name: "shop-db", key_value: "v" });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const open = page.getByRole("button", { name: "Delete secret" });
    await open.click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await open.evaluate((button) => button === document.activeElement)).toBe(true);
    expect((await anns.call("list_no_dup")).json().secrets).toHaveLength(1);
    await open.click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete secret" }).click();
    await page.getByText("No secrets yet").waitFor();
    expect((await anns.call("list_no_dup")).json().secrets).toEqual([]);
  });
});

async function received(permission: string): Promise<void> {
  await bobs.call("protect", { key_name: "mail", key_value: "bob's value" });
  await bobs.call("share", { key_name: "mail", permission, usr_id_from: bob, usr_id_to: ann });
}

describe("a received secret", () => {
  test("to read is revealed, offers nothing else, and leaves the list on request", async () => {
    await received("R");
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(bob, "mail"));
    await page.getByRole("button", { name: "Reveal value" }).click();
    await page.getByText("bob's value").waitFor();
    for (const name of ["New version", "Edit metadata", "Share", "Delete secret", "Delete version 1"]) {
      expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
    }
    await page.getByRole("button", { name: "Remove from my list" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove from my list" }).click();
    await page.getByText("No secrets yet").waitFor();
    expect((await bobs.call("list_no_dup")).json().secrets).toHaveLength(1);
  });

  test("to read and write takes a new version", async () => {
    await received("RW");
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(bob, "mail"));
    await page.getByRole("button", { name: "New version" }).click();
    await page.getByLabel("New value").fill("ann's value");
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByRole("heading", { name: "Version 2" }).waitFor();
    expect((await bobs.call("expose_link", { key_name: "mail" })).json().key_value).toBe("ann's value");
  });

  test("to write only is not listed, but can be written at its address", async () => {
    await received("W");
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(bob, "mail"));
    await page.getByLabel("New value").fill("ann's value");
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByText("Added version 2 of mail.").waitFor();
    expect((await bobs.call("expose_link", { key_name: "mail" })).json().key_value).toBe("ann's value");
  });

  test("and one's own of the same name are two", async () => {
    await received("R");
    await anns.call("protect", { key_name: "mail", key_value: "ann's own" });
    const { page, go } = await browser.visit(vault, { as: ann });
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
