import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestVault } from "../support/vault/test-vault.ts";
import { ann } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { allPages, fillPages } from "./support/pages.ts";

const browser = new TestBrowser();

let vault: TestVault;
beforeAll(async () => {
  vault = await TestVault.start();
  await fillPages(vault);
});
afterAll(() => vault[Symbol.asyncDispose]());

describe.each([320, 360, 800, 1280])("window of %d pixels", (width) => {
  test("is at least as wide as every page", async () => {
    const loggedOut = await browser.visit(vault, { viewport: { width, height: 740 } });
    const loggedIn = await browser.visit(vault, { as: ann, viewport: { width, height: 740 } });
    for (const { route, shows, requiresLogin } of allPages) {
      const { page, go } = requiresLogin ? loggedIn : loggedOut;
      await go(route);
      await page.getByText(shows).first().waitFor();
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(excess, route).toBe(0);
    }
  });
});
