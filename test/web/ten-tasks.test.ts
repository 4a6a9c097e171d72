import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { AnnAndBob, ann, bob } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { KeyboardUser } from "./support/keyboard.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

const first = "A=1\nB=2\nC=3";

beforeEach(async () => {
  const metadata = { environment_type: "prod" };
  for (const key_value of [first, first.replace("2", "two")])
    await users.ann.call("protect", { key_name: "shop/env", key_value, metadata });
});

async function openList(): Promise<{ readonly page: Page; readonly user: KeyboardUser }> {
  const { page, go } = await browser.visit(users.vault, {
    as: ann,
    permissions: ["clipboard-read", "clipboard-write"],
    viewport: { width: 1280, height: 900 },
  });
  await go("/secrets");
  await page.getByLabel("Select shop/env").waitFor();
  return { page, user: new KeyboardUser(page) };
}

async function stored(key_name: string): Promise<{ key_value: string; key_version: number }> {
  return (await users.ann.call("expose", { key_name })).json();
}

// Without a mouse, from the list. The clicks are the limit of what a mouse needs.
describe("task by keyboard alone", () => {
  test("finds a secret and copies its value: 2 clicks", async () => {
    const { page, user } = await openList();
    await user.type("Search secrets", "env");
    await user.press("Copy value of shop/env");
    await page.getByText("Copied value of shop/env.").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain("B=two");
    expect(user.clicks).toBe(2);
  });

  test("creates a secret: 3 clicks", async () => {
    const { page, user } = await openList();
    await user.press("New secret");
    await page.getByRole("heading", { name: "New secret" }).waitFor();
    await user.type("Name", "shop/new");
    await user.type("Value", "typed value");
    await user.press("Create secret");
    await page.getByRole("heading", { name: "shop/new" }).waitFor();
    expect(await stored("shop/new")).toMatchObject({ key_value: "typed value" });
    expect(user.clicks).toBe(3);
  });

  test("changes one line of a value: 2 clicks", async () => {
    const { page, user } = await openList();
    await user.press("Edit value of shop/env");
    const field = page.getByLabel("Value of version 2");
    await expect.poll(() => field.inputValue()).toContain("B=two");
    expect(page.url()).not.toContain("edit");
    for (const key of ["Control+Home", "ArrowDown", "End"]) await page.keyboard.press(key);
    await page.keyboard.type("!");
    await user.press("Save as a new version");
    await page.getByText("Added version 3 of shop/env.").waitFor();
    expect(await stored("shop/env")).toMatchObject({ key_value: "A=1\nB=two!\nC=3" });
    expect(user.clicks).toBe(2);
    await page.reload();
    await page.getByRole("button", { name: "Edit value" }).waitFor();
    await page.getByRole("heading", { name: "Version 3" }).waitFor();
    expect(await page.getByLabel("Value of version 3").count()).toBe(0);
  });

  test("sees what has changed: 2 clicks", async () => {
    const { page, user } = await openList();
    await user.press("shop/env");
    await page.getByRole("heading", { name: "Version 2" }).waitFor();
    await user.press("Compare version 2");
    await page.getByText("1 line removed, 1 added.").waitFor();
    expect(user.clicks).toBe(2);
  });

  test("goes back to an earlier version: 3 clicks", async () => {
    const { page, user } = await openList();
    await user.press("shop/env");
    await page.getByRole("heading", { name: "Version 2" }).waitFor();
    await user.press("Make current: version 1");
    await page.getByRole("dialog").waitFor();
    await user.press("Make current");
    await page.getByRole("heading", { name: "Version 3" }).waitFor();
    expect(await stored("shop/env")).toMatchObject({ key_value: first, key_version: 3 });
    expect(user.clicks).toBe(3);
  });

  test("shares with a colleague: 3 clicks", async () => {
    const { page, user } = await openList();
    await user.press("shop/env");
    await page.getByText("Only you have access.").waitFor();
    await user.type("User or team", bob);
    await user.press("Share");
    await page.getByText(`Shared with ${bob}.`).waitFor();
    const { shares } = (await users.ann.call("share_list", { key_name: "shop/env" })).json();
    expect(shares).toMatchObject([{ to: bob }]);
    expect(user.clicks).toBe(3);
  });

  test("invites a colleague without a share: 4 clicks", async () => {
    await users.ann.call("team_create", { group_id: "checkout", members: [] });
    const { page, user } = await openList();
    await user.press("Teams");
    await page.getByText("1 member").waitFor();
    await user.type("Add members", "new@example.com");
    await user.press("Add");
    await page.getByRole("dialog").waitFor();
    await user.press("Add anyway");
    await page.getByText("Added new@example.com.").waitFor();
    expect(user.clicks).toBe(4);
    await users.ann.call("team_delete", { group_id: "checkout" });
  });

  test("imports an .env file: 3 clicks", async () => {
    const { page, user } = await openList();
    await user.press("New secret");
    await page.getByRole("heading", { name: "New secret" }).waitFor();
    await user.press("Import a .env file");
    await page.getByLabel("Content of the .env file").waitFor();
    await user.type("Content of the .env file", "ONE=1\nTWO=2");
    await user.press("Create 2 secrets");
    await page.getByText("Created 2 secrets.").waitFor();
    expect(await stored("TWO")).toMatchObject({ key_value: "2" });
    expect(user.clicks).toBe(3);
  });

  test("undoes a deletion: 1 click", async () => {
    const { page, user } = await openList();
    await user.press("Select shop/env");
    await page.keyboard.press("Space");
    await user.press("Delete");
    await page.getByRole("dialog").waitFor();
    await user.press("Delete");
    await page.getByText("Deleted 1 secret.").waitFor();
    user.clicks = 0;
    await user.press("Undo");
    await page.getByText("Restored shop/env.").waitFor();
    expect(await stored("shop/env")).toMatchObject({ key_version: 2 });
    expect(user.clicks).toBe(1);
  });

  test("makes a token for one environment: 7 clicks", async () => {
    const { page, user } = await openList();
    await user.press("API tokens");
    await page.getByText("Usage").first().waitFor();
    await user.type("Name", "deployment");
    await user.press("Limit what it can access");
    await user.type("Environment", "prod");
    await user.type("Confirm your password", users.vault.passwords.get(ann) ?? "");
    await user.press("Create token");
    await page.getByText("Expires in 24 hours").first().waitFor();
    await user.press("Copy access token");
    expect(user.clicks).toBe(7);
  });

  test("connects a cluster: 5 clicks", async () => {
    const { page, user } = await openList();
    await user.press("API tokens");
    await page.getByText("Usage").first().waitFor();
    await user.press("Connect a cluster");
    await page.getByText("Create a token for the cluster").waitFor();
    await user.type("Confirm your password", users.vault.passwords.get(ann) ?? "");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Copy commands" }).waitFor();
    await user.press("Copy commands");
    await page.getByText("Copied commands.").waitFor();
    await user.press("Copy credentials");
    expect(user.clicks).toBe(5);
  });
});
