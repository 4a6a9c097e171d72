import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ann } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { tabTo } from "./support/keyboard.ts";
import { useFilledVault } from "./support/pages.ts";

const browser = new TestBrowser();
const vault = await useFilledVault();

/** Returns the text of the page title if it has the focus. */
function focusedHeading(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => document.querySelector("h1:focus")?.textContent);
}

describe("keyboard", () => {
  test("logs in, creates a secret and reveals it", async () => {
    const { page, go } = await browser.visit(vault);
    await go("/login");
    await page.getByLabel("Email address").waitFor();
    await tabTo(page, "Email address");
    await page.keyboard.type(ann);
    await tabTo(page, "Password");
    await page.keyboard.type(vault.passwords.get(ann) ?? "");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "New secret" }).waitFor();
    await tabTo(page, "New secret");
    await page.keyboard.press("Enter");
    await page.getByLabel("Value", { exact: true }).waitFor();
    await tabTo(page, "Name");
    await page.keyboard.type("typed-name");
    await tabTo(page, "Value");
    await page.keyboard.type("typed value");
    await tabTo(page, "Create secret");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Reveal value" }).waitFor();
    await tabTo(page, "Reveal value");
    await page.keyboard.press("Enter");
    await page.getByText("typed value").waitFor();
  });

  test("reaches the skip link first, which moves the focus to the content", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByText("Add members").waitFor();
    await page.keyboard.press("Tab");
    await tabTo(page, "Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
    expect(page.url()).toBe(`${vault.url}/#/teams`);
  });

  test("has the focus on the page title after a deletion", async () => {
    const caller = await vault.client(ann);
    await caller.call("team_create", { group_id: "short-lived" });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByRole("button", { name: "Delete team short-lived" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Delete team" }).press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => focusedHeading(page)).toBe("Teams");
  });

  test("has the focus on Cancel when a dialog asks for a deletion", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByRole("button", { name: "Delete team checkout" }).press("Enter");
    const cancel = page.getByRole("dialog").getByRole("button", { name: "Cancel" });
    await expect
      .poll(() => cancel.evaluate((button) => button === document.activeElement))
      .toBe(true);
  });

  test("has the focus on the new page's title after a navigation", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/secrets");
    await page.getByText("Orders and stock").waitFor();
    await page.getByRole("link", { name: "Files" }).press("Enter");
    await expect.poll(() => focusedHeading(page)).toBe("Files");
    expect(await page.getByRole("link", { name: "Files" }).getAttribute("aria-current")).toBe(
      "page",
    );
  });
});
