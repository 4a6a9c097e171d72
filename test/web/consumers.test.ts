import { beforeEach, describe, expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const HOUR_MS = 3_600_000;
const SHOP = "kubernetes/shop/VaultSecret/shop-db";

let clock: VirtualClock;
let vault: TestVault;
let anns: VaultClient;
beforeEach(async () => {
  clock = new VirtualClock(Date.now() - 30 * HOUR_MS);
  vault = browser.keep(await TestVault.start({ emails: [ann, bob], clock }));
  anns = await vault.client(ann, undefined, 1_000);
  for (const key_value of ["one", "two"]) await anns.call("protect", { key_name: "db", key_value });
});

const named = (consumer: string) => ({ "vaultsync-consumer": consumer });

/** Lets the vault record what was noted, and returns it. */
async function recorded(entry: object = { key_name: "db" }): Promise<{ consumer: string }[]> {
  await clock.advance(10_000);
  return (await anns.call("consumer_list", entry)).json().consumers;
}

/** Reads a version of the secret as resources do, and lets the vault record that. */
async function readBy(version: number, ...consumers: readonly string[]): Promise<void> {
  const body = { key_name: "db", key_version: version };
  for (const consumer of consumers) {
    await anns.call("version_expose", body, named(consumer));
    clock.stepWall(1);
  }
  await expect
    .poll(async () => (await recorded()).map(({ consumer }) => consumer))
    .toEqual(expect.arrayContaining([...consumers]));
}

/** Sets the clock of the vault to the time of the browser. */
const now = (): void => clock.stepWall(Date.now() - clock.now());

describe("the page of a secret", () => {
  test.each(["light", "dark"] as const)(
    "names the resources that read it, in %s colors",
    async (colorScheme) => {
      await readBy(1, "prod-eu/pay/VaultSecret/db");
      now();
      await readBy(2, SHOP);
      const { page, go } = await browser.visit(vault, { as: ann, colorScheme });
      await go(secretRoute(ann, "db"));
      const items = page.getByRole("region", { name: "Used by" }).getByRole("listitem");
      await expect
        .poll(() => items.allTextContents())
        .toEqual([
          "shop/shop-db (VaultSecret), cluster kubernetes: version 2, just now",
          "pay/db (VaultSecret), cluster prod-eu: version 1, 1 day ago",
        ]);
      expect(await accessibilityViolations(page)).toEqual([]);
    },
  );

  test("names ten resources, counts further ones, and names the account of another user", async () => {
    now();
    const share = { key_name: "db", usr_id_from: ann, usr_id_to: bob, permission: "R" };
    const others = Array.from({ length: 11 }, (_, at) => `c/n/VaultSecret/r${at}`);
    await readBy(2, ...others);
    await anns.call("share", share);
    const bobs = await vault.client(bob);
    await bobs.call("expose_link", { key_name: "db", owner: ann }, named(SHOP));
    await expect.poll(() => recorded()).toHaveLength(12);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "db"));
    const items = page.getByRole("list", { name: "Used by" }).getByRole("listitem");
    await page.getByText("and 2 more").waitFor();
    const texts = await items.allTextContents();
    expect(texts).toHaveLength(11);
    expect(texts[0]).toContain("shop/shop-db (VaultSecret), cluster kubernetes: version 2");
    expect(texts[0]).toMatch(/ as bob@example\.com$/u);
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test("shows nothing without a resource, and nothing when the list fails", async () => {
    now();
    const { page, go } = await browser.visit(vault, { as: ann });
    const requested = page.waitForResponse(/consumer_list/u);
    await go(secretRoute(ann, "db"));
    await requested;
    await page.getByRole("heading", { name: "Sharing" }).waitFor();
    expect(await page.getByText("Used by").count()).toBe(0);
    await readBy(2, SHOP);
    await page.route("**/consumer_list", (route) => route.fulfill({ status: 404, body: "none" }));
    const failed = page.waitForResponse(/consumer_list/u);
    await page.reload();
    await failed;
    await page.getByRole("button", { name: "Reveal value" }).first().waitFor();
    expect(await page.getByText("Used by").count()).toBe(0);
    expect(await page.getByRole("alert").allTextContents()).not.toContain("none");
  });

  test("of another user's secret does not ask for the resources", async () => {
    await anns.call("share", { key_name: "db", usr_id_from: ann, usr_id_to: bob, permission: "R" });
    const { page, go } = await browser.visit(vault, { as: bob });
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Remove from my list" }).waitFor();
    expect(requests.filter((url) => url.includes("consumer_list"))).toEqual([]);
  });
});

describe("the deletion", () => {
  test("of a version names the resources that read it in the last 24 hours", async () => {
    await readBy(1, "c/n/VaultSecret/old");
    now();
    await readBy(1, SHOP);
    await readBy(2, "c/n/VaultSecret/other-version");
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Delete version 1" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete version 1?" });
    const items = dialog.getByRole("listitem");
    await expect.poll(() => items.allTextContents()).toHaveLength(1);
    expect((await items.allTextContents()).join()).toContain("shop/shop-db (VaultSecret)");
    await dialog.getByText("In the last 24 hours, this version was read by:").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Delete version" }).click();
    await page.getByText("Deleted version 1.").waitFor();
  });

  test("of a secret names all resources that read it in the last 24 hours", async () => {
    await readBy(1, "c/n/VaultSecret/old");
    now();
    await readBy(1, SHOP, "c/n/VaultSecret/new");
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Delete secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete secret?" });
    await expect.poll(() => dialog.getByRole("listitem").count()).toBe(2);
    await dialog.getByText("In the last 24 hours, it was read by:").waitFor();
  });

  test("of a selection names the resources that read one of its secrets, with its name", async () => {
    await readBy(1, "c/n/VaultSecret/old");
    now();
    await readBy(2, SHOP);
    for (const key_name of ["mine", "received"])
      await anns.call("protect", { key_name, key_value: "x" });
    const bobs = await vault.client(bob);
    await bobs.call("protect", { key_name: "of-bob", key_value: "x" });
    const share = { key_name: "of-bob", usr_id_from: bob, usr_id_to: ann, permission: "R" };
    await bobs.call("share", share);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/secrets");
    const dialog = page.getByRole("dialog");
    const open = async () => page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByLabel("Select all on this page").check();
    await open();
    const readers = dialog.getByRole("list", { name: "Read in the last 24 hours by" });
    await expect
      .poll(() => readers.getByRole("listitem").allTextContents())
      .toEqual(["shop/shop-db (VaultSecret), cluster kubernetes: db, version 2, just now"]);
    await dialog.getByText("In the last 24 hours, they were read by:").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByLabel("Select db", { exact: true }).uncheck();
    const requested = page.waitForResponse(/consumer_list/u);
    await open();
    await requested;
    expect(await readers.count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.route("**/consumer_list", (route) => route.fulfill({ status: 500, body: "none" }));
    await open();
    await dialog.getByText("The vault did not say which clusters have read them.").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test("of a file or its version names the resources, and its row shows them", async () => {
    now();
    for (const text of ["one", "two"])
      await anns.upload([{ filename: "app.conf", bytes: Buffer.from(text) }]);
    const consumer = "kubernetes/shop/VaultFile/app";
    await anns.call("download_file", { filename: "app.conf", version: 1 }, named(consumer));
    await expect.poll(() => recorded({ filename: "app.conf" })).toHaveLength(1);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.getByRole("button", { name: "app.conf", exact: true }).click();
    const list = page.getByRole("list", { name: "Used by: app.conf" });
    await expect
      .poll(() => list.getByRole("listitem").allTextContents())
      .toEqual([expect.stringContaining("shop/app (VaultFile), cluster kubernetes: version 1")]);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Delete version 2 of app.conf" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("cannot be restored").waitFor();
    expect(await dialog.getByRole("listitem").count()).toBe(0);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Delete version 1 of app.conf" }).click();
    await dialog.getByText("shop/app").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Delete app.conf with all versions" }).click();
    await dialog.getByText("shop/app").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});
