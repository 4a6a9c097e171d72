import { describe, expect, test } from "vitest";
import { ann } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { allPages, useFilledVault } from "./support/pages.ts";

const browser = new TestBrowser();
const vault = await useFilledVault();

describe.each([320, 360, 768, 1280])("window of %d pixels", (width) => {
  test("is at least as wide as every page", async () => {
    const loggedOut = await browser.visit(vault, { viewport: { width, height: 740 } });
    const loggedIn = await browser.visit(vault, { as: ann, viewport: { width, height: 740 } });
    for (const { route, shows, requiresLogin } of allPages) {
      const { page, go } = requiresLogin ? loggedIn : loggedOut;
      await go(route);
      await page.getByText(shows).first().waitFor();
      const excess = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(excess, route).toBe(0);
    }
  });

  test("shows who is logged in", async () => {
    const { page, go } = await browser.visit(vault, { as: ann, viewport: { width, height: 740 } });
    await go("/account");
    const address = page.getByRole("link", { name: `Account ${ann}` }).getByText(ann);
    await address.waitFor();
    expect(await address.evaluate((text) => text.scrollWidth - text.clientWidth)).toBe(0);
  });
});
