import { beforeEach, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { secretRoute } from "./support/ann-and-bob.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const [ann, bob] = ["ann@example.com", "bob@example.com"];

let vault: TestVault;
let anns: VaultClient;
let bobs: VaultClient;
beforeEach(async () => {
  vault = browser.keep(await TestVault.start());
  [anns, bobs] = [await vault.client(ann), await vault.client(bob)];
});

async function members(): Promise<string[]> {
  return (await anns.call("team_list")).json().teams[0]?.members;
}

test("a creator creates a team, changes its members and deletes it", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/teams");
  await page.getByText("No teams yet").waitFor();
  await page.getByRole("button", { name: "New team" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("checkout");
  await dialog.getByLabel("Members").fill(`${bob}, carla@example.com\ndora@example.com`);
  await dialog.getByRole("button", { name: "Create team" }).click();
  const question = page.getByRole("dialog", { name: /^Add / });
  // Who of several strangers has an account is not shown.
  await expect.poll(() => question.getByRole("listitem").count()).toBe(3);
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await members()).toBeUndefined();
  await dialog.getByRole("button", { name: "Create team" }).click();
  await question.getByRole("button", { name: "Add anyway" }).click();
  const list = page.getByRole("list", { name: "Members of checkout" });
  await list.getByText("dora@example.com").waitFor();
  expect(await members()).toEqual([ann, bob, "carla@example.com", "dora@example.com"]);
  await page.getByLabel("Add members", { exact: true }).fill("eve@example.com");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await question.getByText("eve@example.com").waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await question.getByRole("button", { name: "Cancel" }).click();
  expect(await members()).not.toContain("eve@example.com");
  expect(await page.getByLabel("Add members", { exact: true }).inputValue()).toBe(
    "eve@example.com",
  );
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await question.getByRole("button", { name: "Add anyway" }).click();
  await list.getByText("eve@example.com").waitFor();
  await page.getByRole("button", { name: "Remove carla@example.com" }).click();
  await dialog.getByRole("button", { name: "Remove", exact: true }).click();
  await list.getByText("carla@example.com").waitFor({ state: "detached" });
  expect(await members()).toEqual([ann, bob, "dora@example.com", "eve@example.com"]);
  await page.getByRole("button", { name: "Delete team checkout" }).click();
  await dialog.getByRole("button", { name: "Delete team" }).click();
  await page.getByText("No teams yet").waitFor();
  expect(await members()).toBeUndefined();
});

test("a member sees the team and who added them, cannot change it, and leaves it", async () => {
  await bobs.call("team_create", { group_id: "platform", members: [ann] });
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/teams");
  await page.getByRole("list", { name: "Members of platform" }).getByText("(you)").waitFor();
  expect(await page.getByRole("main").getByRole("button").allTextContents()).toEqual([
    "New team",
    "Leave",
  ]);
  await page.getByText(`${bob} added you.`).waitFor();
  await page.getByRole("button", { name: "Leave team platform" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Leave team" }).click();
  await page.getByText("No teams yet").waitFor();
  expect((await bobs.call("team_list")).json().teams[0]?.members).toEqual([bob]);
});

test("a team with many members is a card of limited height with a search", async () => {
  const many = Array.from(
    { length: 40 },
    (_, index) => `${"x".repeat(index)}member.${index}@department.example.com`,
  );
  await anns.call("team_create", { group_id: "everyone", members: [bob, ...many] });
  await bobs.call("team_create", { group_id: "small", members: [ann] });
  const { page, go } = await browser.visit(vault, {
    as: ann,
    viewport: { width: 1280, height: 900 },
  });
  await go("/teams");
  const list = page.getByRole("list", { name: "Members of everyone" });
  await page.getByText("42 members.").waitFor();
  const heights = await page
    .locator(".cards > li")
    .evaluateAll((cards) => cards.map((card) => card.clientHeight));
  expect(Math.max(...heights) < 800).toBe(true);
  expect(heights[1]! < heights[0]!).toBe(true);
  const remove = list.getByRole("button", { name: `Remove ${many[39]}` });
  const [row, button] = [
    await list.getByRole("listitem").last().boundingBox(),
    await remove.boundingBox(),
  ];
  expect(button!.y + button!.height).toBeLessThanOrEqual(row!.y + row!.height);
  expect(button!.y).toBeGreaterThanOrEqual(row!.y);
  await page.getByLabel("Find a member").fill("MEMBER.7@");
  await expect
    .poll(() => list.getByRole("listitem").allTextContents())
    .toEqual(["xxxxxxxmember.7@department.example.com"]);
});

test("the new team dialog shows a name conflict and an invalid email address", async () => {
  await bobs.call("team_create", { group_id: "platform", members: [] });
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/teams");
  await page.getByRole("button", { name: "New team" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("platform");
  await dialog.getByRole("button", { name: "Create team" }).click();
  await dialog.getByRole("alert").getByText("team").waitFor();
  await dialog.getByLabel("Name").fill(bob);
  await dialog.getByRole("button", { name: "Create team" }).click();
  await dialog.getByText("A team's name cannot contain @: an @ always means a user.").waitFor();
  await dialog.getByLabel("Name").fill("another");
  await dialog.getByLabel("Members").fill("nobody");
  await dialog.getByRole("button", { name: "Create team" }).click();
  await expect.poll(() => dialog.getByLabel("Members").getAttribute("aria-invalid")).toBe("true");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
});

test("an @ in the form for sharing is a user and never a team, in every form of it", async () => {
  await anns.call("protect", { key_name: "shop-db", key_value: "v" });
  const { page, go } = await browser.visit(vault, { as: ann });
  await go(secretRoute(ann, "shop-db"));
  const [to, share] = [
    page.getByLabel("User or team", { exact: true }),
    page.getByRole("button", { name: "Share", exact: true }),
  ];
  await to.fill("bob＠example.com");
  await share.click();
  await page.getByText("a team's name cannot contain @: an @ always means a user.").waitFor();
  await to.fill(bob);
  await share.click();
  const grants = page.getByRole("list", { name: "Shared with" }).getByRole("listitem");
  await grants.getByText("User", { exact: true }).waitFor();
  expect((await anns.call("share_list", { key_name: "shop-db" })).json().shares).toMatchObject([
    { kind: "person", to: bob },
  ]);
});

test("a new member appears when the user returns to the page", async () => {
  await bobs.call("team_create", { group_id: "ops", members: [ann] });
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/teams");
  const shown = page.getByRole("list", { name: "Members of ops" }).getByRole("listitem");
  await expect.poll(() => shown.count()).toBe(2);
  await bobs.call("team_add_members", { group_id: "ops", members: ["new@example.com"] });
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await expect.poll(() => shown.count()).toBe(3);
});
