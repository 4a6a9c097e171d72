import { describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();
const FIRST = "canary-first-7f3a";
const SECOND = "canary-second-91bc";

describe("a value with entries", () => {
  test.each(["light", "dark"] as const)(
    "is shown as rows that are revealed and copied alone, in %s colors",
    async (colorScheme) => {
      const value = `DB_USER=${FIRST}\nDB_PASSWORD=${SECOND}\n`;
      await users.ann.call("protect", { key_name: "env", key_value: value });
      const { page, go } = await browser.visit(users.vault, { as: ann, colorScheme });
      await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
      await go(secretRoute(ann, "env"));
      await page.getByRole("button", { name: "Reveal value" }).click();
      const rows = page.getByRole("list", { name: "Entries of the value" }).getByRole("listitem");
      await expect.poll(() => rows.count()).toBe(2);
      expect(await page.content()).not.toContain("canary-");
      await page.getByRole("button", { name: "Reveal DB_PASSWORD" }).click();
      await rows.getByText(SECOND).waitFor();
      expect(await page.content()).not.toContain(FIRST);
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Hide DB_PASSWORD" }).click();
      await expect.poll(() => page.content()).not.toContain(SECOND);
      await page.getByRole("button", { name: "Copy DB_USER" }).click();
      await page.getByText("Copied DB_USER.").waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(FIRST);
      await page.getByRole("button", { name: "Show the whole text" }).click();
      expect(await page.getByRole("group", { name: "Value" }).textContent()).toBe(value);
      await page.getByRole("button", { name: "Hide value" }).click();
      await expect.poll(() => page.content()).not.toContain("canary-");
    },
  );

  test("of JSON has a row for each member, also in the list of secrets and at 320 pixels", async () => {
    const value = JSON.stringify({ user: "ann \n", db: { password: SECOND } });
    await users.ann.call("protect", { key_name: "json", key_value: value });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    const rows = page.getByRole("list", { name: "Entries of the value" }).getByRole("listitem");
    await go("/secrets");
    await page.getByRole("button", { name: "Reveal value of json" }).click();
    await rows.getByText("db/password").waitFor();
    await page.getByRole("button", { name: "Reveal user" }).click();
    await rows.getByText("Ends with a space and a newline.").waitFor();
    await page.setViewportSize({ width: 320, height: 700 });
    await go(secretRoute(ann, "json"));
    await page.getByRole("button", { name: "Reveal value" }).click();
    await page.getByRole("button", { name: "Reveal db/password" }).click();
    await rows.getByText(SECOND).waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
    // The header covers a part of what is scrolled below it.
    await page.evaluate(() => scrollTo(0, 0));
    expect(await accessibilityViolations(page)).toEqual([]);
    await users.ann.call("delete", { key_name: ["json", "env"], permanently: true });
  });
});
