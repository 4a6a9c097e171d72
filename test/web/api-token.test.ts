import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const ann = "ann@example.com";
const permissions = ["clipboard-read", "clipboard-write"];

let vault: TestVault;
beforeEach(async () => {
  vault = browser.keep(await TestVault.start({ emails: [ann] }));
});

test("a token has a name, a scope and a lifetime, is listed and can be revoked", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/api-token");
  await page.getByLabel("Name", { exact: true }).fill("backup script");
  await page.getByLabel("Lifetime").selectOption({ label: "30 days" });
  await page.getByText("Limit what it can access").click();
  await page.getByLabel("Environment").fill("prod, staging");
  await page
    .getByLabel("Confirm your password", { exact: true })
    .fill(vault.passwords.get(ann) ?? "");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("Expires in 30 days").first().waitFor();
  await expect.poll(() => page.locator("h1:focus").count()).toBe(1);
  const item = page
    .getByRole("list", { name: "API tokens" })
    .getByRole("listitem")
    .filter({ hasText: "backup script" });
  await item.getByText("environment type: prod, staging").waitFor();
  const token = await page.locator(".token code").first().textContent();
  const program = new VaultClient(vault.url, ann, { token: token ?? "" });
  expect((await program.call("list_no_dup")).outcome()).toBe("200");
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("heading", { name: "New token" }).waitFor();
  await expect.poll(() => page.locator("h1:focus").count()).toBe(1);
  expect(await page.locator(".token").count()).toBe(0);
  await item.getByRole("button", { name: "Revoke backup script" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await item.waitFor({ state: "detached" });
  expect((await program.call("list_no_dup")).outcome()).toBe("401 invalid_token");
});

test("the form says how many secrets a token reads, suggests values and refuses patterns", async () => {
  const caller = await vault.client(ann);
  for (const [key_name, environment_type] of [
    ["prod/db", "prod"],
    ["prod/api", "prod"],
    ["dev/db", "dev"],
  ])
    await caller.call("protect", { key_name, key_value: "v", metadata: { environment_type } });
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/api-token");
  const reach = page.getByRole("status").filter({ hasText: "This token reads" });
  await page.getByText("Limit what it can access").click();
  await expect.poll(() => reach.textContent()).toBe("This token reads all 3 secrets.");
  const environment = page.getByLabel("Environment");
  const suggested = () =>
    environment.evaluate((input: HTMLInputElement) =>
      [...(input.list?.options ?? [])].map(({ value }) => value),
    );
  expect(await suggested()).toEqual(["dev", "prod"]);
  await environment.fill("prodd");
  await expect.poll(() => reach.textContent()).toBe("This token reads none of 3 secrets.");
  await environment.fill("prod");
  await expect
    .poll(() => reach.textContent())
    .toBe("This token reads 2 of 3 secrets: prod/api, prod/db.");
  await environment.fill("prod, ");
  expect(await suggested()).toEqual(["prod, dev"]);
  expect(await accessibilityViolations(page)).toEqual([]);
  const names = page.getByLabel("Names of secrets");
  await names.fill("prod/*");
  await page.getByLabel("Name", { exact: true }).fill("operator");
  const password = page.getByLabel("Confirm your password", { exact: true });
  await password.fill(vault.passwords.get(ann) ?? "");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("no secret has the name “prod/*”").waitFor();
  expect(await names.getAttribute("aria-invalid")).toBe("true");
});

test("a token can be limited to networks and end although it is refreshed", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/api-token");
  await page.getByLabel("Name", { exact: true }).fill("operator");
  await page.getByText("Limit where and how long it can be used").click();
  const networks = page.getByLabel("Networks");
  await networks.fill("example.com");
  await page.getByLabel("Ends").selectOption({ label: "After 30 days" });
  const password = page.getByLabel("Confirm your password", { exact: true });
  await password.fill(vault.passwords.get(ann) ?? "");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("entry 1: expected an address or a network").waitFor();
  await networks.fill("192.0.2.0/24, 2001:db8::1");
  await password.fill(vault.passwords.get(ann) ?? "");
  await page.getByRole("button", { name: "Create token" }).click();
  const item = page
    .getByRole("list", { name: "API tokens" })
    .getByRole("listitem")
    .filter({ hasText: "operator" });
  await item.getByText("Only from 192.0.2.0/24, 2001:db8::1/128").waitFor();
  await item.getByText("Ends in 30 days").waitFor();
  const token = await page.locator(".token code").first().textContent();
  const elsewhere = new VaultClient(vault.url, ann, { token: token ?? "" });
  expect((await elsewhere.call("list_no_dup")).outcome()).toBe("401 invalid_token");
});

test("a token is shown after a password check and is gone when the page is left", async () => {
  const { page, go } = await browser.visit(vault, { as: ann, permissions });
  await go("/api-token");
  const password = page.getByLabel("Confirm your password", { exact: true });
  await page.getByLabel("Name", { exact: true }).fill("laptop");
  await password.fill("not the password");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("Wrong password.").waitFor();
  await password.fill(vault.passwords.get(ann) ?? "");
  await page.getByRole("button", { name: "Create token" }).click();
  await page.getByText("Expires in 24 hours").first().waitFor();
  await page.getByRole("button", { name: "Copy refresh token" }).click();
  await page.getByText("Copied refresh token.").waitFor();
  const refreshToken = await page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole("button", { name: "Copy access token" }).click();
  await page.getByText("Copied access token.").waitFor();
  const token = await page.evaluate(() => navigator.clipboard.readText());
  expect((await new VaultClient(vault.url, ann, { token }).call("list_no_dup")).status).toBe(200);
  const refreshed = await vault.post("/v1/user/refresh_token", {
    refresh_token: refreshToken,
    used_access_token: token,
  });
  expect(refreshed.json()).toMatchObject({ expires_in: 86_400 });
  await page.getByRole("link", { name: "Teams" }).click();
  await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor();
  await page.getByRole("link", { name: "API tokens" }).click();
  await password.waitFor();
  const kept = await page.evaluate(() =>
    [document.documentElement.outerHTML, location.href, ...Object.values(localStorage)].join(),
  );
  expect(kept).not.toContain(token);
});

test("the shell example works unchanged with the token on standard input", async () => {
  const caller = await vault.client(ann);
  await caller.call("protect", { key_name: "shop-db", key_value: "v" });
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/api-token");
  const example = (await page.getByRole("region", { name: "Example" }).textContent()) ?? "";
  const shell = promisify(execFile)("bash", ["--norc", "-c", example], { timeout: 20_000 });
  shell.child.stdin?.end(`${caller.token}\n`);
  expect(JSON.parse((await shell).stdout)).toMatchObject({ secrets: [{ key_name: "shop-db" }] });
});
