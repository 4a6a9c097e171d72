import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestVault } from "../support/vault/test-vault.ts";
import { TestBrowser } from "./support/browser.ts";
import { allPages, ann, fillPages } from "./support/pages.ts";

const browser = new TestBrowser();

let vault: TestVault;
beforeAll(async () => {
  vault = await TestVault.start();
  await fillPages(vault);
});
afterAll(() => vault[Symbol.asyncDispose]());

/** Roles that somebody acts upon; each needs a name that a screen reader can say. */
const controlRoles = [
  "button",
  "link",
  "textbox",
  "searchbox",
  "combobox",
  "radio",
  "checkbox",
  "spinbutton",
  "progressbar",
  "dialog",
];

/** Roles of controls that have no name, as the browser's own accessibility tree has it. */
async function namelessControls(devTools: CDPSession): Promise<string[]> {
  const { nodes } = await devTools.send("Accessibility.getFullAXTree");
  return nodes
    .filter(({ ignored, role }) => !ignored && controlRoles.includes(String(role?.value)))
    .filter(({ name }) => String(name?.value ?? "").trim() === "")
    .map(({ role }) => String(role?.value));
}

async function headingLevels(page: Page): Promise<number[]> {
  return page
    .locator("h1, h2, h3, h4, h5, h6")
    .evaluateAll((headings) => headings.map(({ tagName }) => Number(tagName.slice(1))));
}

describe.each(allPages)("the page $route", ({ route, shows, loggedIn }) => {
  test("names every control, has one title, and headings in order", async () => {
    const { page, go } = await browser.visit(vault, loggedIn ? { as: ann } : {});
    await go(route);
    await page.getByText(shows).first().waitFor();
    expect(await namelessControls(await page.context().newCDPSession(page))).toEqual([]);
    const levels = await headingLevels(page);
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    for (const [at, level] of levels.entries()) expect(level - (levels[at - 1] ?? 0), levels.join()).toBeLessThanOrEqual(1);
    expect(await page.title()).toBe(`${await page.locator("h1").textContent()} · Vaultsync`);
    expect(await page.locator("html").getAttribute("lang")).toBe("en");
    const ids = await page.locator("[id]").evaluateAll((elements) => elements.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

async function tabTo(page: Page, name: string): Promise<void> {
  const focused = () =>
    page.evaluate(() => {
      const { activeElement: element } = document;
      const label =
        element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement
          ? element.labels?.[0]?.textContent
          : undefined;
      return label ?? element?.getAttribute("aria-label") ?? element?.textContent;
    });
  for (let presses = 0; presses < 40; presses++) {
    if ((await focused()) === name) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`the keyboard does not reach ${name}`);
}

/** Text of the title, when it has the focus. */
function focusedHeading(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => document.querySelector("h1:focus")?.textContent);
}

describe("by keyboard alone", () => {
  test("one logs in, makes a secret, and reads it again", async () => {
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
    await page.getByLabel("Value").waitFor();
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

  test("the first stop leads past what is the same on every page", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByText("Add members").waitFor();
    await page.keyboard.press("Tab");
    await tabTo(page, "Skip to content");
    await page.keyboard.press("Enter");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
    expect(page.url()).toBe(`${vault.url}/#/teams`);
  });

  test("after something was deleted the focus is on the page's title", async () => {
    const caller = await vault.client(ann);
    await caller.call("team_create", { group_id: "short-lived" });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByRole("button", { name: "Delete team short-lived" }).press("Enter");
    await page.getByRole("dialog").getByRole("button", { name: "Delete team" }).press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(() => focusedHeading(page)).toBe("Teams");
  });

  test("a dialog about something that cannot be taken back begins at the way out", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByRole("button", { name: "Delete team checkout" }).press("Enter");
    const cancel = page.getByRole("dialog").getByRole("button", { name: "Cancel" });
    await expect.poll(() => cancel.evaluate((button) => button === document.activeElement)).toBe(true);
  });

  test("after a navigation the focus is on the new page's title", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/secrets");
    await page.getByText("Orders and stock").waitFor();
    await page.getByRole("link", { name: "Files" }).press("Enter");
    await expect.poll(() => focusedHeading(page)).toBe("Files");
    expect(await page.getByRole("link", { name: "Files" }).getAttribute("aria-current")).toBe("page");
  });
});
