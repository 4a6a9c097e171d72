import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mailTo } from "../lab/mail/smtp-server.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser, type Visitor } from "./support/browser.ts";

const browser = new TestBrowser();
const ann = "ann@example.com";
const HOUR = 3_600_000;

let clock: VirtualClock;
let vault: TestVault;
beforeAll(async () => {
  clock = new VirtualClock();
  vault = await TestVault.start({
    clock,
    emails: [ann, "bob@example.com"],
    signUp: { mode: "open" },
  });
  const caller = await vault.client(ann, undefined, 1000);
  await caller.call("protect", { key_name: "shop-db", key_value: "v" });
});
afterAll(() => vault[Symbol.asyncDispose]());

async function logIn({ page }: Visitor, email: string, password: string): Promise<void> {
  await page.getByLabel("Email address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
}

describe("login and logout", () => {
  test("the login page of a vault without accounts says how to add the first", async () => {
    await using fresh = await TestVault.start({ emails: [] });
    const { page, go } = await browser.visit(fresh);
    await go("/");
    await page.getByText("This vault has no accounts yet.").waitFor();
    await page.getByText("vaultsync vault user add EMAIL").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test("the login page reports a wrong password and opens the secrets after a correct one", async () => {
    const visitor = await browser.visit(vault);
    const { page, go } = visitor;
    await go("/login");
    await logIn(visitor, ann, "not the password");
    await page.getByRole("alert").getByText("password").waitFor();
    await logIn(visitor, ann, vault.passwords.get(ann) ?? "");
    await page.getByRole("heading", { level: 1, name: "Secrets" }).waitFor();
    await expect.poll(() => page.url()).toBe(`${vault.url}/#/secrets`);
  });

  test("a page that requires a login is shown after the login", async () => {
    const visitor = await browser.visit(vault);
    await visitor.go(`/secrets/${encodeURIComponent(ann)}/shop-db`);
    await visitor.page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
    await logIn(visitor, ann, vault.passwords.get(ann) ?? "");
    await visitor.page.getByRole("heading", { level: 1, name: "shop-db" }).waitFor();
  });

  test("a page that is opened after the session ended appears after a login over it", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByText("No teams yet").waitFor();
    clock.stepWall(2 * HOUR);
    await page.getByRole("link", { name: "Files" }).click();
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Password", { exact: true }).fill(vault.passwords.get(ann) ?? "");
    await dialog.getByRole("button", { name: "Log in", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "Files" }).waitFor();
    await page.getByText("No files yet").waitFor();
  });

  test("a new login of the same user in another tab keeps the first tab logged in", async () => {
    const visitor = await browser.visit(vault, { as: ann });
    const { page, go } = visitor;
    await go("/teams");
    await page.getByText("No teams yet").waitFor();
    const again = await page.request.post(`${vault.url}/app/log_in`, {
      data: { email: ann, password: vault.passwords.get(ann) },
    });
    expect(again.status()).toBe(200);
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByText("No files yet").waitFor();
  });

  test("a login of another user in another tab ends the session of the first tab", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/teams");
    await page.getByText("No teams yet").waitFor();
    const bob = "bob@example.com";
    await page.request.post(`${vault.url}/app/log_in`, {
      data: { email: bob, password: vault.passwords.get(bob) },
    });
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    await page.getByRole("button", { name: "Log in as another user" }).click();
    await page.getByRole("heading", { level: 1, name: "Log in" }).waitFor();
  });

  test("an unreachable vault is reported with a retry button", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await page.route("**/app/session", (route) => route.abort());
    await go("/secrets");
    await page.getByRole("alert").getByText("cannot be reached").waitFor();
    await page.unroute("**/app/session");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("link", { name: "shop-db" }).waitFor();
  });
});

async function linkFor(visitor: Visitor, route: string, email: string): Promise<string> {
  await visitor.go(route);
  await visitor.page.getByLabel("Email address").fill(email);
  await visitor.page.getByRole("button", { name: "Request the link" }).click();
  await visitor.page.getByRole("heading", { name: "Ask for the link" }).waitFor();
  return (await mailTo(vault.mailDirectory, email)).link;
}

describe("password pages", () => {
  test("the token of an email link is removed from the address bar and the history", async () => {
    const visitor = await browser.visit(vault);
    const { page } = visitor;
    const link = await linkFor(visitor, "/sign-up", "new@example.com");
    const token = link.split("token=")[1] ?? "";
    await page.goto(link);
    await page.getByLabel("New password", { exact: true }).waitFor();
    expect(token).not.toBe("");
    await expect.poll(() => page.url()).toBe(`${vault.url}/#/set-password`);
    expect(await page.content()).not.toContain(token);
    await page.goBack();
    await page.goForward();
    await expect.poll(() => page.url()).toBe(`${vault.url}/#/set-password`);
    await page.reload();
    await page.getByText("Open this page through the link in an email").waitFor();
  });

  test("different passwords, a short password and a used link are rejected", async () => {
    const visitor = await browser.visit(vault);
    const { page } = visitor;
    const link = await linkFor(visitor, "/forgot-password", "bob@example.com");
    await page.goto(link);
    await page.getByText("This sets the password of bob@example.com.").waitFor();
    const address = page.locator("input[name=email]");
    expect(await address.inputValue()).toBe("bob@example.com");
    expect(await address.getAttribute("autocomplete")).toBe("username");
    const [password, again] = [
      page.getByLabel("New password", { exact: true }),
      page.getByLabel("Confirm password", { exact: true }),
    ];
    const submit = page.getByRole("button", { name: "Set password and log in" });
    await password.fill("correct horse battery");
    await again.fill("correct horse");
    await submit.click();
    const own = page.getByLabel("This is my email address");
    expect(await own.evaluate((input) => input.matches(":invalid"))).toBe(true);
    await own.check();
    expect(await accessibilityViolations(page)).toEqual([]);
    await submit.click();
    // Said once: a second sentence about it would be another match.
    await page.getByText("not match").waitFor();
    expect(await again.getAttribute("aria-invalid")).toBe("true");
    await password.fill("short");
    await again.fill("short");
    await submit.click();
    expect(await password.evaluate((input) => input.matches(":invalid"))).toBe(true);
    await password.fill("password123456");
    await again.fill("password123456");
    await submit.click();
    await page.getByText("One of the most common passwords").first().waitFor();
    await page.getByRole("button", { name: "Show new password" }).click();
    expect(await password.getAttribute("type")).toBe("text");
    await password.fill("correct horse battery");
    await again.fill("correct horse battery");
    await submit.click();
    await page.getByRole("heading", { level: 1, name: "Secrets" }).waitFor();

    const late = await browser.visit(vault);
    await late.page.goto(link);
    await late.page.getByRole("link", { name: "Request another email" }).waitFor();
  });

  test("a second email within a minute is rejected with the time to wait", async () => {
    const visitor = await browser.visit(vault);
    const { page } = visitor;
    await linkFor(visitor, "/forgot-password", "carla@example.com");
    await page.getByRole("button", { name: "Use another address" }).click();
    await page.getByLabel("Email address").fill("carla@example.com");
    await page.getByRole("button", { name: "Request the link" }).click();
    const note = await page.getByRole("alert").getByText("An email was sent").textContent();
    expect(note).toMatch(/Try again in \d+ seconds?\.$/u);
  });

  test("an email address with and without an account gets the same page", async () => {
    const visitor = await browser.visit(vault);
    const { page, go } = visitor;
    const shown: string[] = [];
    for (const email of [ann, "nobody@example.com"]) {
      await go("/login");
      await page.getByRole("link", { name: "Forgot your password?" }).click();
      await page.getByRole("heading", { level: 1, name: "Forgot your password?" }).waitFor();
      await page.getByLabel("Email address").fill(email);
      await page.getByRole("button", { name: "Request the link" }).click();
      await page.getByRole("heading", { name: "Ask for the link" }).waitFor();
      shown.push((await page.getByRole("main").innerText()).replace(email, "<address>"));
    }
    expect(shown[0]).toBe(shown[1]);
  });
});
