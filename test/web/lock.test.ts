import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const ann = "ann@example.com";
const MINUTE = 60_000;

let clock: VirtualClock;
let vault: TestVault;
beforeAll(async () => {
  clock = new VirtualClock();
  vault = await TestVault.start({ clock, emails: [ann] });
});
afterAll(() => vault[Symbol.asyncDispose]());

const locked = (page: Page) => page.getByRole("dialog", { name: "Locked" });

async function hasSession(page: Page): Promise<boolean> {
  const response = await page.request.post(`${vault.url}/app/session`, { data: {} });
  return (await response.json()).session !== null;
}

async function logIn(page: Page): Promise<void> {
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Password", { exact: true }).fill(vault.passwords.get(ann) ?? "");
  await dialog.getByRole("button", { name: "Log in", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

describe("pages without use for 15 minutes", () => {
  test("are locked, their session ends, and typed text is still there after a login", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await page.clock.install();
    await go("/new-secret");
    const value = page.getByLabel("Value", { exact: true });
    await value.fill("a private key");
    await page.clock.fastForward(14 * MINUTE);
    expect(await locked(page).count()).toBe(0);
    await page.keyboard.press("Shift");
    await page.clock.fastForward(14 * MINUTE);
    expect(await locked(page).count()).toBe(0);
    await page.clock.fastForward(2 * MINUTE);
    await locked(page).waitFor();
    await expect.poll(() => hasSession(page)).toBe(false);
    expect(await accessibilityViolations(page)).toEqual([]);
    await logIn(page);
    expect(await value.inputValue()).toBe("a private key");
    await page.getByLabel("Name", { exact: true }).fill("after-lock");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("heading", { level: 1, name: "after-lock" }).waitFor();
  });

  test("are not locked while another tab is in use, and then with it", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await page.clock.install();
    await go("/teams");
    await page.getByText("No teams yet").waitFor();
    const other = await page.context().newPage();
    await other.goto(`${vault.url}/#/files`);
    await other.getByText("No files yet").waitFor();
    // The clock of both tabs.
    await page.clock.fastForward(10 * MINUTE);
    const notified = await page.evaluateHandle(() => ({
      message: new Promise<void>((resolve) => {
        new BroadcastChannel("vaultsync-session").addEventListener("message", () => resolve());
      }),
    }));
    await other.keyboard.press("Shift");
    await notified.evaluate(({ message }) => message);
    await page.clock.fastForward(10 * MINUTE);
    expect(await locked(page).count()).toBe(0);
    await page.clock.fastForward(16 * MINUTE);
    await locked(other).waitFor();
    await locked(page).waitFor();
    await logIn(other);
    await locked(page).waitFor({ state: "detached" });
  });
});

test("a session that ended elsewhere is noticed without a click", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await page.clock.install();
  await go("/teams");
  await page.getByText("No teams yet").waitFor();
  clock.stepWall(2 * 60 * MINUTE);
  await page.clock.fastForward(5 * MINUTE);
  await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
  await logIn(page);
  await page.getByText("No teams yet").waitFor();
});
