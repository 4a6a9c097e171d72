import { expect, test } from "vitest";
import { ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { useFilledVault } from "./support/pages.ts";

const browser = new TestBrowser();
const vault = await useFilledVault();

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
