import { describe, expect, test } from "vitest";
import { ann, secretRoute } from "./support/ann-and-bob.ts";
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

test("a page of the dark theme is printed on white, without what can be clicked", async () => {
  const { page, go } = await browser.visit(vault, { as: ann, colorScheme: "dark" });
  await go(secretRoute(ann, "shop-db"));
  await page.getByRole("heading", { name: "Version 2" }).waitFor();
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const style = await page.evaluate(() => {
    const { backgroundColor, color } = getComputedStyle(document.body);
    return { backgroundColor, color };
  });
  expect(style).toEqual({ backgroundColor: "rgb(255, 255, 255)", color: "rgb(0, 0, 0)" });
  expect(await page.getByRole("button").count()).toBe(0);
  expect(await page.getByText("Orders and stock").isVisible()).toBe(true);
});
