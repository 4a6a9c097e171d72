import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { allPages, allStates, openState, useFilledVault } from "./support/pages.ts";

const browser = new TestBrowser();
const vault = await useFilledVault();

const looks = [
  { name: "light", options: { colorScheme: "light" } },
  { name: "dark", options: { colorScheme: "dark" } },
  { name: "forced", options: { forcedColors: "active" } },
] as const;

describe.each(looks)("accessibility with $name colors", ({ name: look, options }) => {
  const violations = (page: Page, seesColors = true): Promise<string[]> =>
    accessibilityViolations(page, look !== "forced" && seesColors);

  test.each([1280, 360])(
    "axe finds no violation on any page in a window of %d pixels",
    async (width) => {
      const viewport = { width, height: 740 };
      const loggedOut = await browser.visit(vault, { ...options, viewport });
      const loggedIn = await browser.visit(vault, { as: ann, ...options, viewport });
      for (const { route, shows, requiresLogin } of allPages) {
        const { page, go } = requiresLogin ? loggedIn : loggedOut;
        await go(route);
        await page.getByText(shows).first().waitFor();
        expect(await violations(page), route).toEqual([]);
        expect(await page.title()).toBe(`${await page.locator("h1").textContent()} · Vaultsync`);
      }
    },
  );

  test("axe finds no violation in a form that shows an error", async () => {
    // High enough that the sticky header covers no field.
    const viewport = { width: 1280, height: 1600 };
    const { page, go } = await browser.visit(vault, { as: ann, ...options, viewport });
    await go("/new-secret");
    await page.getByLabel("Name").fill("x".repeat(300));
    await page.getByText("Custom metadata and automatic deletion").click();
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByText("At most 256 characters.").waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Generate" }).click();
    expect(await violations(page), "generator").toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Import a .env file" }).click();
    await page.getByLabel("Content of the .env file").fill("A=1\nB\nshop-db=2");
    await page.getByText("In use, version 2").waitFor();
    expect(await violations(page), "import").toEqual([]);
  });

  test("axe finds no violation while a value is revealed", async () => {
    const { page, go } = await browser.visit(vault, { as: ann, ...options });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Reveal value" }).first().click();
    await page.getByText("Hidden automatically").waitFor();
    expect(await violations(page)).toEqual([]);
  });

  test("axe finds no violation in any dialog and form", async () => {
    // High enough that the sticky header covers no field.
    const viewport = { width: 1280, height: 2200 };
    const visitor = await browser.visit(vault, { as: ann, ...options, viewport });
    for (const state of allStates) {
      await openState(visitor, state);
      // Axe takes a table that comes later in the document for one above the dialog.
      const found = await violations(visitor.page, state.route !== "/secrets");
      expect(found, state.name).toEqual([]);
    }
  });
});

test.each(["light", "dark"] as const)(
  "the background follows the color scheme %s",
  async (colorScheme) => {
    const { page, go } = await browser.visit(vault, { colorScheme });
    await go("/login");
    const [red = 0] =
      (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g) ??
      [];
    expect(Number(red) > 128).toBe(colorScheme === "light");
  },
);
