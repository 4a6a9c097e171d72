import { beforeEach, describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

beforeEach(async () => {
  for (const key_name of ["prod/mail", "prod/shop-db", "staging/shop-db"])
    await users.ann.call("protect", { key_name, key_value: `value of ${key_name}` });
});

describe("keys", () => {
  test("search, add a secret, and list themselves", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/teams");
    await page.getByText("No teams yet").waitFor();
    await page.keyboard.press("?");
    const help = page.getByRole("dialog", { name: "Keys" });
    await help.getByText("Search the secrets").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.keyboard.press("n");
    await page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor();
    await page.keyboard.press("/");
    await page.getByLabel("Search secrets").waitFor();
    await expect
      .poll(() => page.getByLabel("Search secrets").evaluate((field) => field.matches(":focus")))
      .toBe(true);
    await page.keyboard.type("n?/");
    expect(await page.getByLabel("Search secrets").inputValue()).toBe("n?/");
    await page.getByLabel("Search secrets").blur();
    await page.keyboard.press("n");
    await page.getByRole("heading", { level: 1, name: "New secret" }).waitFor();
    await page.keyboard.type("n");
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("n");
  });

  test("find and open a secret from any page, with Ctrl+K", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/files");
    await page.getByText("No files yet").waitFor();
    await page.keyboard.press("Control+k");
    const dialog = page.getByRole("dialog", { name: "Open a secret" });
    await dialog.getByLabel("Search").waitFor();
    await page.keyboard.type("shop");
    await expect.poll(() => dialog.getByRole("option").count()).toBe(2);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "staging/shop-db" }).waitFor();
    expect(await dialog.count()).toBe(0);
  });
});
