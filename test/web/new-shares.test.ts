import { expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, bob } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

async function shareWithAnn(key_name: string): Promise<void> {
  await users.bob.call("protect", { key_name, key_value: "v" });
  await users.bob.call("share", { key_name, permission: "R", usr_id_from: bob, usr_id_to: ann });
}

test("a secret that a user receives is marked as new until its page is opened", async () => {
  await shareWithAnn("old");
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go("/secrets");
  await page.getByRole("link", { name: "old" }).waitFor();
  expect(await page.getByText("New", { exact: true }).count()).toBe(0);
  await shareWithAnn("added");
  await shareWithAnn("more");
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  const row = (name: string) => page.getByRole("row", { name });
  await row("added").getByText("New", { exact: true }).waitFor();
  await page.getByText("2 new", { exact: true }).waitFor();
  expect(await row("old").getByText("New", { exact: true }).count()).toBe(0);
  expect(await accessibilityViolations(page)).toEqual([]);
  await page.reload();
  await page.getByRole("link", { name: "added" }).click();
  await page.getByRole("heading", { name: "Versions" }).waitFor();
  await page.getByRole("link", { name: "All secrets" }).click();
  await page.getByText("1 new", { exact: true }).waitFor();
  await row("more").getByText("New", { exact: true }).waitFor();
  expect(await row("added").getByText("New", { exact: true }).count()).toBe(0);
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toMatch(/added|example/u);
  await page.getByRole("button", { name: "Mark as seen" }).click();
  await page.getByText("1 new", { exact: true }).waitFor({ state: "detached" });
});
