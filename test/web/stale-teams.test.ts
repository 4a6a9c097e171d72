import type { Locator, Page } from "playwright-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

beforeEach(async () => {
  await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
  await users.ann.call("team_create", { group_id: "ops", members: [] });
});
afterEach(() => users.bob.call("team_delete", { group_id: "ops" }));

/** Replaces Ann's team by a team of Bob with the same name and Ann as a member. */
async function replaceTeam(): Promise<void> {
  await users.ann.call("team_delete", { group_id: "ops" });
  const created = await users.bob.call("team_create", { group_id: "ops", members: [ann] });
  expect(created.outcome()).toBe("200");
}

async function shares(): Promise<unknown[]> {
  return (await users.ann.call("share_list", { key_name: "shop-db" })).json().shares;
}

/** Waits until the page asks about the team that it has fetched again, and accepts it. */
async function acceptTeam(page: Page): Promise<void> {
  await page.getByText(`${bob} can add members, who then have access, too.`).waitFor();
  expect(await shares()).toEqual([]);
  await page.getByLabel("I know this team.").check();
}

/** Saves another permission of the team. The team is replaced while the dialog is open. */
async function saveAfterReplacement(page: Page): Promise<Locator> {
  await page.getByRole("button", { name: "Change permission of ops" }).click();
  await replaceTeam();
  const dialog = page.getByRole("dialog", { name: "Change permission" });
  await dialog.getByLabel("Permission", { exact: true }).selectOption("RW");
  await dialog.getByRole("button", { name: "Save" }).click();
  return dialog;
}

describe("a team that another user recreated", () => {
  test("receives nothing from a page that shows the former team", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const recipients = page.getByLabel("User or team", { exact: true });
    await recipients.fill("ops");
    await page.getByText("Members of ops, a team of yours").waitFor();
    await replaceTeam();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByText("another one has its name by now.").waitFor();
    await acceptTeam(page);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByText("Shared with ops.").waitFor();
  });

  test("receives nothing from a selection either", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByLabel("Select shop-db").check();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share 1 secret" });
    await dialog.getByLabel("User or team", { exact: true }).fill("ops");
    await dialog.getByText("Members of ops, a team of yours").waitFor();
    await replaceTeam();
    await dialog.getByRole("button", { name: "Share", exact: true }).click();
    await dialog.getByText("0 of 1 shared, 1 not.").waitFor();
    await acceptTeam(page);
    await dialog.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Shared 1 secret.").waitFor();
  });

  test("receives no permission that a page shows for the former team", async () => {
    const share = { key_name: "shop-db", permission: "R", usr_id_from: ann, group_id_to: "ops" };
    await users.ann.call("share", share);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const dialog = await saveAfterReplacement(page);
    await dialog.getByText("another one has its name by now.").waitFor();
    expect(await shares()).toEqual([]);
  });

  test("receives no permission from a page that could not fetch the teams", async () => {
    const share = { key_name: "shop-db", permission: "R", usr_id_from: ann, group_id_to: "ops" };
    await users.ann.call("share", share);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await page.route("**/team/list", (route) => route.abort());
    await go(secretRoute(ann, "shop-db"));
    const dialog = await saveAfterReplacement(page);
    await dialog.getByRole("alert").waitFor();
    expect(await shares()).toEqual([]);
  });
});

test("a team that the page does not show yet receives nothing before the user knows it", async () => {
  await users.ann.call("team_delete", { group_id: "ops" });
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go(secretRoute(ann, "shop-db"));
  await page.getByText("Only you have access.").waitFor();
  await users.bob.call("team_create", { group_id: "ops", members: [ann] });
  await page.getByLabel("User or team", { exact: true }).fill("ops");
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByText("You have no team “ops”.").waitFor();
  await acceptTeam(page);
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByText("Shared with ops.").waitFor();
});
