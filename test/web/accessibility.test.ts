import { describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { allPages, useFilledVault } from "./support/pages.ts";

const browser = new TestBrowser();
const vault = await useFilledVault();

describe.each(["light", "dark"] as const)("accessibility with %s colors", (colorScheme) => {
  test.each([1280, 360])(
    "axe finds no violation on any page in a window of %d pixels",
    async (width) => {
      const viewport = { width, height: 740 };
      const loggedOut = await browser.visit(vault, { colorScheme, viewport });
      const loggedIn = await browser.visit(vault, { as: ann, colorScheme, viewport });
      for (const { route, shows, requiresLogin } of allPages) {
        const { page, go } = requiresLogin ? loggedIn : loggedOut;
        await go(route);
        await page.getByText(shows).first().waitFor();
        expect(await accessibilityViolations(page), route).toEqual([]);
        expect(await page.title()).toBe(`${await page.locator("h1").textContent()} · Vaultsync`);
      }
    },
  );

  test("axe finds no violation in a form that shows an error", async () => {
    // High enough that the sticky header covers no field.
    const viewport = { width: 1280, height: 1600 };
    const { page, go } = await browser.visit(vault, { as: ann, colorScheme, viewport });
    await go("/new-secret");
    await page.getByLabel("Name").fill("x".repeat(300));
    await page.getByText("Custom metadata and automatic deletion").click();
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByText("At most 256 characters.").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Generate" }).click();
    expect(await accessibilityViolations(page), "generator").toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Import a .env file" }).click();
    await page.getByLabel("Content of the .env file").fill("A=1\nB\nshop-db=2");
    await page.getByText("In use, version 2").waitFor();
    expect(await accessibilityViolations(page), "import").toEqual([]);
  });

  test("axe finds no violation while a value is revealed and a dialog is open", async () => {
    const { page, go } = await browser.visit(vault, { as: ann, colorScheme });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Reveal value" }).first().click();
    await page.getByText("Hidden automatically").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    for (const [button, title] of [
      ["Edit metadata", "Metadata of version 2"],
      ["Make current: version 1", "Make version 1 current?"],
      ["Delete secret", "Delete secret?"],
      ["Change permission of checkout", "Change permission"],
    ] as const) {
      await page.getByRole("button", { name: button }).click();
      await page.getByRole("dialog", { name: title }).waitFor();
      expect(await accessibilityViolations(page), title).toEqual([]);
      await page.keyboard.press("Escape");
    }
  });

  test("the background follows the color scheme", async () => {
    const { page, go } = await browser.visit(vault, { colorScheme });
    await go("/login");
    const [red = 0] =
      (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g) ??
      [];
    expect(Number(red) > 128).toBe(colorScheme === "light");
  });
});
