import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

/** Returns whether the page is light or dark. */
async function shade(page: Page): Promise<"light" | "dark"> {
  const color = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  return Number(/\d+/u.exec(color)?.[0]) > 128 ? "light" : "dark";
}

async function choose(page: Page, colors: string): Promise<void> {
  await page.getByRole("radio", { name: colors }).focus();
  await page.keyboard.press("Space");
}

test.each([
  ["light", "Dark", "dark"],
  ["dark", "Light", "light"],
] as const)(
  "a system with %s colors shows pages that are set to %s",
  async (system, label, set) => {
    // High enough that the sticky header covers no text.
    const viewport = { width: 1280, height: 1600 };
    const { page, go } = await browser.visit(users.vault, {
      as: ann,
      colorScheme: system,
      viewport,
    });
    await go("/account");
    await page.getByRole("heading", { name: "Blocked senders" }).waitFor();
    const other = await page.context().newPage();
    await other.goto(`${users.vault.url}/#/teams`);
    await other.getByText("No teams yet").waitFor();
    expect(await shade(page)).toBe(system);
    await choose(page, label);
    expect(await shade(page)).toBe(set);
    expect(await accessibilityViolations(page)).toEqual([]);
    await expect.poll(() => shade(other)).toBe(set);
    await page.emulateMedia({ media: "print" });
    const root = page.locator("html");
    expect(await root.evaluate((html) => getComputedStyle(html).colorScheme)).toBe("light");
    await page.emulateMedia({ media: "screen" });
    await page.reload();
    await page.getByRole("heading", { name: "Blocked senders" }).waitFor();
    expect(await shade(page)).toBe(set);
    expect(await page.getByRole("radio", { name: label }).isChecked()).toBe(true);
    await choose(page, "System");
    expect(await shade(page)).toBe(system);
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
  },
);

test("nothing is painted before the chosen colors are known", async () => {
  const { page, go } = await browser.visit(users.vault, { colorScheme: "light" });
  await go("/login");
  await page.evaluate(() => localStorage.setItem("vaultsync-colors", "dark"));
  await page.addInitScript(() => {
    // The first change of the attribute, in the task of the script.
    new MutationObserver(() => performance.mark("colors")).observe(document, {
      subtree: true,
      attributeFilter: ["data-colors"],
    });
  });
  await page.route("**/assets/index-*.js", async (route) => {
    await page.waitForFunction(() => document.styleSheets.length > 0);
    await route.continue();
  });
  await page.reload();
  await page.getByLabel("Email address").waitFor();
  expect(await shade(page)).toBe("dark");
  const first = (name: string) =>
    page.evaluate((wanted) => performance.getEntriesByName(wanted)[0]?.startTime, name);
  await expect
    .poll(() => first("first-paint"))
    .toBeGreaterThan((await first("colors")) ?? Infinity);
});
