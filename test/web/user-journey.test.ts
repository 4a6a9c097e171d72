import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { Canaries } from "../lab/assertions/canary.ts";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { TestBrowser } from "./support/browser.ts";
import { sha256 } from "../lab/vault/requests.ts";

const browser = new TestBrowser();
const ann = "ann@example.com";
const zoe = "zoe@example.com";

async function setPassword(page: Page, password: string): Promise<void> {
  await page.getByLabel("This is my email address").check();
  await page.getByLabel("New password", { exact: true }).fill(password);
  await page.getByLabel("Confirm password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Set password and log in" }).click();
  await page.getByRole("heading", { level: 1, name: "Secrets" }).waitFor();
}

async function clipboard(page: Page): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText());
}

async function newest(vault: TestVault, email: string): Promise<string> {
  return (await mailTo(vault.mailDirectory, email)).link;
}

test("two users sign up, share a secret, create an API token and exchange a file", async () => {
  const canaries = new Canaries();
  const [value, annsPassword, zoesPassword] = [
    canaries.text("value"),
    canaries.text("password"),
    canaries.text("password"),
  ];
  const vault = browser.keep(await TestVault.start({ emails: [], signUp: { mode: "open" } }));
  const { page, go } = await browser.visit(vault);

  // Sign up.
  await go("/sign-up");
  await page.getByLabel("Email address").fill(ann);
  await page.getByRole("button", { name: "Request the link" }).click();
  await page.getByRole("heading", { name: "Ask for the link" }).waitFor();
  await page.goto(await newest(vault, ann));
  await expect.poll(() => page.url()).toBe(`${vault.url}/#/set-password`);
  await setPassword(page, annsPassword);

  // Create a secret, and share it with a user without an account.
  await page.getByRole("link", { name: "New secret" }).first().click();
  await page.getByLabel("Name").fill("shop-db");
  await page.getByLabel("Value").fill(value);
  await page.getByRole("button", { name: "Create secret" }).click();
  await page.getByRole("heading", { level: 1, name: "shop-db" }).waitFor();
  await page.getByLabel("User or team", { exact: true }).fill(zoe);
  await page.getByRole("button", { name: "Share", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Invite and share" }).click();
  await page.getByText("Invited", { exact: true }).waitFor();

  // The recipient follows the link of the invitation and sees the secret.
  const other = await browser.visit(vault, { permissions: ["clipboard-read", "clipboard-write"] });
  await other.page.goto(await newest(vault, zoe));
  await other.page.getByText(`${ann} shared something with you.`).waitFor();
  await setPassword(other.page, zoesPassword);
  await other.page.getByRole("link", { name: "shop-db" }).click();
  expect(await other.page.content()).not.toContain(value);
  await other.page.getByRole("button", { name: "Reveal value" }).click();
  await expect
    .poll(() => other.page.getByLabel("Value", { exact: true }).textContent())
    .toBe(value);

  // An API token copied from the page works.
  await other.page.getByRole("link", { name: "API token" }).click();
  await other.page.getByLabel("Name", { exact: true }).fill("laptop");
  await other.page.getByLabel("Confirm your password", { exact: true }).fill(zoesPassword);
  await other.page.getByRole("button", { name: "Create token" }).click();
  await other.page.getByRole("button", { name: "Copy access token" }).click();
  await other.page.getByText("Copied access token.").waitFor();
  const caller = new VaultClient(vault.url, zoe, { token: await clipboard(other.page) });
  expect((await caller.call("expose_link", { key_name: "shop-db" })).json()).toMatchObject({
    key_value: value,
    owner: ann,
  });

  // An uploaded file is downloaded unchanged.
  const bytes = randomBytes(300_000);
  await page.getByRole("link", { name: "Files" }).click();
  await page
    .getByLabel("Files to upload")
    .setInputFiles({ name: "backup.bin", mimeType: "application/octet-stream", buffer: bytes });
  await page.getByRole("button", { name: "backup.bin", exact: true }).waitFor();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download backup.bin" }).click();
  const saved = await (await download).path();
  expect((await download).suggestedFilename()).toBe("backup.bin");
  expect(sha256(await readFile(saved))).toBe(sha256(bytes));

  // Logging out leaves nothing in the page.
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await go("/secrets");
  await page.reload();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  expect(canaries.tracesIn({ page: await page.content(), address: page.url() })).toEqual([]);
});
