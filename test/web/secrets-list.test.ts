import { describe, expect, test } from "vitest";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { insertSecrets } from "../lab/vault/insert-secrets.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { AnnAndBob, ann, bob } from "./support/ann-and-bob.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

describe("secrets list", () => {
  test("searches, filters and sorts secrets and keeps the view across navigation", async () => {
    await users.ann.call("protect", {
      key_name: "api-key",
      key_value: "v",
      metadata: { environment_type: "prod", expiration_time: 90 },
    });
    await users.ann.call("protect", {
      key_name: "shop-db",
      key_value: "v",
      metadata: { description: "orders", expiration_time: 1 },
    });
    await users.bob.call("protect", { key_name: "mail", key_value: "v" });
    await users.bob.call("share", {
      key_name: "mail",
      permission: "R",
      usr_id_from: bob,
      usr_id_to: ann,
    });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    const names = () => page.locator("tbody a").allTextContents();
    await expect.poll(names).toEqual(["api-key", "mail", "shop-db"]);
    await page.getByLabel("Shared with me").check({ force: true });
    await expect.poll(names).toEqual(["mail"]);
    await page.getByLabel("All", { exact: true }).check({ force: true });
    await page.getByLabel("Sort by").selectOption("Sort by expiry");
    await expect.poll(names).toEqual(["shop-db", "mail", "api-key"]);
    await page.getByLabel("Search secrets").fill("environment_type:prod");
    await expect.poll(names).toEqual(["api-key"]);
    await page.getByLabel("Search secrets").fill("no such words");
    await page.getByText("No matches").waitFor();
    await page.getByLabel("Search secrets").fill("orders");
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("link", { name: "All secrets" }).click();
    expect(await page.getByLabel("Search secrets").inputValue()).toBe("orders");
  });

  test("shows owner, permission, expiry and deletion deadline of a secret", async () => {
    await users.bob.call("protect", {
      key_name: "mail",
      key_value: "v",
      metadata: { expiration_time: 0 },
      delete_time: 60 * 24 * 3,
    });
    await users.bob.call("share", {
      key_name: "mail",
      permission: "RW",
      usr_id_from: bob,
      usr_id_to: ann,
    });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    const row = page.getByRole("row", { name: "mail" });
    for (const text of [bob, "Read/write", "Expired", "Deleted in 3 days"])
      await row.getByText(text).first().waitFor();
    expect(await row.getByText("in 3 days").getAttribute("title")).toMatch(/20\d\d/u);
  });

  test("stays with its selection while the vault cannot be reached, and is fetched afterwards", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByLabel("Select shop-db").check();
    const returnToTab = () =>
      page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    const note = page.getByText(/^As of \d\d:\d\d\. The vault cannot be reached\./u);
    await page.context().setOffline(true);
    await returnToTab();
    await note.waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByText("1 selected").waitFor();
    await users.ann.call("protect", { key_name: "added", key_value: "v" });
    await page.context().setOffline(false);
    await page.getByRole("link", { name: "added" }).waitFor();
    expect(await note.count()).toBe(0);
    await page.clock.install();
    await page.route("**/list_no_dup", (route) => route.abort());
    await returnToTab();
    await note.waitFor();
    // The next attempts are ever later.
    const failed = page.waitForEvent("requestfailed");
    await page.clock.fastForward(5_000);
    await failed;
    await page.unroute("**/list_no_dup");
    await users.ann.call("protect", { key_name: "later", key_value: "v" });
    let requested = false;
    page.on("request", () => (requested = true));
    await expect
      .poll(async () => {
        if (!requested) await page.clock.fastForward(10_000);
        return page.getByRole("link", { name: "later" }).count();
      })
      .toBe(1);
    await page.getByText("1 selected").waitFor();
  });

  test("pages ten thousand secrets by fifty and searches all of them", async () => {
    const directory = await mkdtemp(join(tmpdir(), "vault-web-"));
    browser.keep({ [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) });
    const data = join(directory, "vault.db");
    const large = browser.keep(await TestVault.start({ data, emails: [ann] }));
    insertSecrets(data, ann, 10_000, Date.now());
    const { page, go } = await browser.visit(large, { as: ann });
    await go("/secrets");
    await page.getByText("1 to 50 of 10,000").waitFor();
    await expect.poll(() => page.locator("tbody tr").count()).toBe(50);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("link", { name: "listed-000050" }).waitFor();
    await page.getByLabel("Search secrets").fill("listed-00999");
    await page.getByText("1 to 10 of 10").waitFor();
  });
});
