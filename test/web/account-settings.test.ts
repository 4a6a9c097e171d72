import { beforeEach, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { WebSession } from "../lab/vault/web-session.ts";
import { ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();

let vault: TestVault;
let [anns, bobs]: VaultClient[] = [];
beforeEach(async () => {
  vault = browser.keep(await TestVault.start());
  [anns, bobs] = [await vault.client(ann), await vault.client(bob)];
  await bobs.call("protect", { key_name: "mail", key_value: "v" });
  await bobs.call("share", { key_name: "mail", permission: "R", usr_id_from: bob, usr_id_to: ann });
});

const outcome = async (caller: VaultClient | undefined) =>
  (await caller?.call("list_no_dup"))?.outcome();

/** Returns the id of the caller's session or token. */
async function currentId(caller: VaultClient): Promise<string> {
  const { tokens } = (await caller.call("token_list")).json();
  return tokens.find(({ current }: { current: boolean }) => current).id;
}

test("a user sees what acts as them, and ends a token, a browser, then all others", async () => {
  const firefox = {
    "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
  };
  const [other, third, fourth] = [
    await WebSession.logIn(vault, ann, firefox),
    await WebSession.logIn(vault, ann),
    await WebSession.logIn(vault, ann),
  ];
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/secrets");
  await page.getByRole("link", { name: `Account ${ann}` }).click();
  const sessions = page.getByRole("list", { name: "Sessions" }).getByRole("listitem");
  await expect.poll(() => sessions.count()).toBe(4);
  expect(await sessions.filter({ hasText: "This browser" }).textContent()).toContain(
    "Chrome on Linux",
  );
  const token = page.getByRole("list", { name: "API tokens" }).getByRole("listitem");
  expect(await token.textContent()).toMatch(
    /Everything.*Created just now.*Last used just now.*Expires in/u,
  );
  expect(await token.locator("time").first().getAttribute("title")).toMatch(/\d{4} at \d\d:\d\d/u);
  const dialog = page.getByRole("dialog");
  await token.getByRole("button", { name: "Revoke API token" }).click();
  await dialog.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("No API tokens.").waitFor();
  expect(await outcome(anns)).toBe("401 invalid_token");
  expect(await outcome(other)).toBe("200");
  await sessions.getByRole("button", { name: "Log out Firefox on Linux" }).click();
  await dialog.getByRole("button", { name: "Log out", exact: true }).click();
  await expect.poll(() => sessions.count()).toBe(3);
  expect(await outcome(other)).toBe("401 invalid_token");
  expect(await outcome(third)).toBe("200");
  await page.getByRole("button", { name: "Log out all others" }).click();
  await dialog.getByRole("button", { name: "Log out all others" }).click();
  await expect.poll(() => sessions.count()).toBe(1);
  expect(await outcome(third)).toBe("401 invalid_token");
  expect(await outcome(fourth)).toBe("401 invalid_token");
  expect(await page.getByRole("button", { name: "Log out all others" }).count()).toBe(0);
});

test("a user ends all others, also when one has ended or was added since the page was opened", async () => {
  const [ended, other] = [await WebSession.logIn(vault, ann), await WebSession.logIn(vault, ann)];
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/account");
  const sessions = page.getByRole("list", { name: "Sessions" }).getByRole("listitem");
  await expect.poll(() => sessions.count()).toBe(3);
  await page.getByRole("button", { name: "Log out all others" }).click();
  await ended.call("token_revoke", { id: await currentId(ended) });
  const added = await WebSession.logIn(vault, ann);
  await page.getByRole("dialog").getByRole("button", { name: "Log out all others" }).click();
  await page.getByText("Logged out 2 browsers.").waitFor();
  await expect.poll(() => sessions.count()).toBe(1);
  expect(await outcome(other)).toBe("401 invalid_token");
  expect(await outcome(added)).toBe("401 invalid_token");
});

test("a new login appears when the user returns to the page", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/account");
  const sessions = page.getByRole("list", { name: "Sessions" }).getByRole("listitem");
  await expect.poll(() => sessions.count()).toBe(1);
  await WebSession.logIn(vault, ann);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await expect.poll(() => sessions.count()).toBe(2);
});

test("a token that has ended since the page was opened leaves the list", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/api-token");
  const tokens = page.getByRole("list", { name: "API tokens" }).getByRole("listitem");
  await tokens.getByRole("button", { name: "Revoke API token" }).click();
  await anns?.call("token_revoke", { id: await currentId(anns) });
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByText("No API tokens.").waitFor();
});

test("a user changes the password and stays logged in", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await go("/account");
  await page.getByLabel("Current password", { exact: true }).fill("not the password");
  await page.getByLabel("New password", { exact: true }).fill("correct horse battery");
  await page.getByLabel("Confirm password", { exact: true }).fill("correct horse battery");
  const submit = page.getByRole("button", { name: "Change password" });
  await submit.click();
  await page.getByText("Wrong password.").waitFor();
  await page.getByLabel("Current password", { exact: true }).fill(vault.passwords.get(ann) ?? "");
  await submit.click();
  await page.getByText("Changed your password.").waitFor();
  await page.getByText("No API tokens.").waitFor();
  await expect
    .poll(() => page.getByRole("list", { name: "Sessions" }).getByRole("listitem").count())
    .toBe(1);
  expect(await outcome(anns)).toBe("401 invalid_token");
  expect((await vault.logIn(ann, { password: "correct horse battery" })).outcome()).toBe("200");
  await page.getByRole("link", { name: "Files" }).click();
  await page.getByText("No files yet").waitFor();
});

test("the form of a new password names the account, and change-password leads to it", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await page.goto(`${vault.url}/.well-known/change-password`);
  await page.getByRole("heading", { level: 1, name: "Account" }).waitFor();
  await go("/account");
  const form = page.locator("form", { has: page.getByLabel("Current password", { exact: true }) });
  const name = form.locator('input[autocomplete="username"]');
  expect(await name.inputValue()).toBe(ann);
});

test("a user blocks the sender of a secret and unblocks them on the account page", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  await go(secretRoute(bob, "mail"));
  await page.getByRole("button", { name: "Block sender" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Block sender" }).click();
  await page.getByRole("heading", { level: 1, name: "Secrets" }).waitFor();
  await page.getByText("No secrets yet").waitFor();
  await go("/account");
  await page.getByRole("list", { name: "Blocked senders" }).getByText(bob).waitFor();
  await page.getByRole("button", { name: `Unblock ${bob}` }).click();
  await page.getByRole("list", { name: "Blocked senders" }).waitFor({ state: "detached" });
  await page.getByLabel("Block a sender").fill(ann);
  await page.getByRole("button", { name: "Block", exact: true }).click();
  await page.getByText("This is your own address").first().waitFor();
  await page.getByRole("link", { name: "Secrets", exact: true }).click();
  await page.getByRole("link", { name: "mail" }).waitFor();
});

test.each(["open", "closed"] as const)(
  "the login page follows the sign-up mode %s",
  async (mode) => {
    const other = browser.keep(await TestVault.start({ signUp: { mode } }));
    const { page, go } = await browser.visit(other);
    await go("/login");
    await page.getByRole("link", { name: "Forgot your password?" }).waitFor();
    expect(await page.getByRole("link", { name: "Sign up" }).count()).toBe(mode === "open" ? 1 : 0);
    await go("/sign-up");
    await page
      .getByText(mode === "open" ? "This vault sends no email" : "created by its operator")
      .waitFor();
  },
);
