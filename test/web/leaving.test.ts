import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const ann = "ann@example.com";
const HOUR = 3_600_000;

let clock: VirtualClock;
let vault: TestVault;
beforeAll(async () => {
  clock = new VirtualClock();
  vault = await TestVault.start({ clock, emails: [ann] });
});
afterAll(() => vault[Symbol.asyncDispose]());

const value = "-----BEGIN PRIVATE KEY-----";

/** Opens the form of a new secret from the list, and types into it. */
async function typeSecret(
  page: Page,
  go: (route: string) => Promise<void>,
  name: string,
): Promise<void> {
  await go("/secrets");
  await page.getByRole("link", { name: "New secret" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  await page.getByLabel("Value", { exact: true }).fill(value);
}

const typedValue = (page: Page): Promise<string> =>
  page.getByLabel("Value", { exact: true }).inputValue();

async function logInAgain(page: Page): Promise<void> {
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  expect(await dialog.getByLabel("Email address").inputValue()).toBe(ann);
  await dialog.getByLabel("Password", { exact: true }).fill(vault.passwords.get(ann) ?? "");
  await dialog.getByRole("button", { name: "Log in", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
}

describe("typed text", () => {
  test("is sent after a login over the page when the session had ended", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await typeSecret(page, go, "after-login");
    clock.stepWall(2 * HOUR);
    await page.getByRole("button", { name: "Create secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password", { exact: true }).fill("not the password");
    await dialog.getByRole("button", { name: "Log in", exact: true }).click();
    await dialog.getByRole("alert").getByText("Wrong").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await typedValue(page)).toBe(value);
    await logInAgain(page);
    await page.getByRole("heading", { level: 1, name: "after-login" }).waitFor();
    const reader = await vault.client(ann);
    expect((await reader.call("expose", { key_name: "after-login" })).json().key_value).toBe(value);
  });

  test("stays when the user does not leave for a link or for the page before", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await typeSecret(page, go, "stays");
    const form = page.url();
    const question = page.getByRole("dialog", { name: "Discard what you entered?" });
    for (const leave of [
      () => page.getByRole("link", { name: "Files" }).click(),
      () => page.goBack(),
    ]) {
      await leave();
      await question.getByRole("button", { name: "Continue editing" }).click();
      await question.waitFor({ state: "detached" });
      await expect.poll(() => page.url()).toBe(form);
      expect(await typedValue(page)).toBe(value);
    }
    await page.getByRole("button", { name: "Log out" }).click();
    await question.getByRole("button", { name: "Continue editing" }).click();
    await page.getByRole("link", { name: "Files" }).click();
    await question.getByRole("button", { name: "Discard" }).click();
    await page.getByRole("heading", { level: 1, name: "Files" }).waitFor();
    await page.goBack();
    expect(await typedValue(page)).toBe("");
  });

  test("makes the browser ask before a reload, until it is saved", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    const questions: string[] = [];
    page.on("dialog", (dialog) => {
      questions.push(dialog.type());
      void dialog.accept();
    });
    await typeSecret(page, go, "reloaded");
    await page.reload();
    expect(questions).toEqual(["beforeunload"]);
    await page.getByLabel("Name", { exact: true }).fill("reloaded");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("heading", { level: 1, name: "reloaded" }).waitFor();
    await page.reload();
    expect(questions).toEqual(["beforeunload"]);
  });

  test("in a dialog is not discarded by Escape without a question", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByRole("button", { name: "New team" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("checkout");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Continue editing" }).click();
    expect(await page.getByRole("dialog").getByLabel("Name").inputValue()).toBe("checkout");
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Discard" }).click();
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  });
});

describe("work that ends after its form was left", () => {
  test("reports what it created, and opens no page over what the user types now", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await typeSecret(page, go, "created-late");
    const held = Promise.withResolvers<void>();
    await page.route("**/v1/user/secret/protect", async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("link", { name: "Teams" }).click();
    const question = page.getByRole("dialog", { name: "Leave while this is saved?" });
    await question.getByRole("button", { name: "Leave" }).click();
    await page.getByRole("button", { name: "New team" }).click();
    const members = page.getByRole("dialog").getByLabel("Members");
    await members.fill("typed after it");
    held.resolve();
    await page.getByText("Created created-late.").waitFor();
    expect(await members.inputValue()).toBe("typed after it");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("link", { name: "Open created-late" }).click();
    await page.getByRole("heading", { level: 1, name: "created-late" }).waitFor();
  });

  test("asks before it replaces the text of another form of the same page", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await typeSecret(page, go, "kept");
    await page.getByRole("button", { name: "Import a .env file" }).click();
    await page.getByLabel("Content of the .env file").fill("IMPORTED=1");
    await page.getByRole("button", { name: "Create 1 secret" }).click();
    const question = page.getByRole("dialog", { name: "Discard what you entered?" });
    await question.getByRole("button", { name: "Continue editing" }).click();
    await page.getByRole("button", { name: "Create one secret" }).click();
    expect(await typedValue(page)).toBe(value);
  });

  test("is reported when it fails", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await typeSecret(page, go, "fails-late");
    const held = Promise.withResolvers<void>();
    await page.route("**/v1/user/secret/protect", async (route) => {
      await held.promise;
      await route.abort();
    });
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("link", { name: "Teams" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor();
    held.resolve();
    await page.getByRole("alert").getByText("The vault cannot be reached.").waitFor();
  });
});

describe("a logout", () => {
  test("that the vault does not confirm is reported, keeps the pages and can be repeated", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.route("**/app/log_out", (route) => route.abort());
    await page.getByRole("button", { name: "Log out" }).click();
    const dialog = page.getByRole("dialog", { name: "You are still logged in" });
    await dialog.getByRole("alert").getByText("cannot be reached").waitFor();
    await page.getByRole("heading", { level: 1, name: "Files" }).waitFor();
    await page.unroute("**/app/log_out");
    await dialog.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
  });

  test("closes the pages of other tabs, with what they reveal, and a login opens them", async () => {
    const owner = await vault.client(ann);
    await owner.call("protect", { key_name: "revealed", key_value: "a revealed value" });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(`/secrets/${encodeURIComponent(ann)}/revealed`);
    await page.getByRole("button", { name: "Reveal value" }).click();
    await page.getByText("a revealed value").waitFor();
    const second = await page.context().newPage();
    await second.goto(`${vault.url}/#/files`);
    await second.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("status").getByText("You logged out in another tab.").waitFor();
    expect(await page.content()).not.toContain("a revealed value");
    await second.getByLabel("Email address").fill(ann);
    await second.getByLabel("Password", { exact: true }).fill(vault.passwords.get(ann) ?? "");
    await second.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "revealed" }).waitFor();
  });
});
