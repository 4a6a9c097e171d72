import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

const protect = (key_name: string, key_value = "v") =>
  users.ann.call("protect", { key_name, key_value });
const names = async (): Promise<string[]> =>
  (await users.ann.call("list_no_dup"))
    .json()
    .secrets.map(
      ({ key_name, key_version }: { key_name: string; key_version: number }) =>
        `${key_name} ${key_version}`,
    );
const trashed = async (): Promise<string[]> =>
  (await users.ann.call("trash_list")).json().trash.map(({ name }: { name: string }) => name);
const undo = (page: Page) => page.getByRole("status").getByRole("button", { name: "Undo" });
const heading = (page: Page) => page.evaluate(() => document.activeElement?.textContent);

describe("Undo", () => {
  test("restores a secret that was deleted on its page, with its share", async () => {
    await protect("db");
    await protect("db", "two");
    const share = { key_name: "db", permission: "R", usr_id_from: ann, usr_id_to: bob };
    await users.ann.call("share", share);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Delete secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete secret?" });
    await dialog.getByText("move to the trash for 30 days").waitFor();
    await dialog.getByRole("button", { name: "Delete secret" }).click();
    await page.getByText("No secrets yet").waitFor();
    expect(await names()).toEqual([]);
    await undo(page).click();
    await page.getByText("Restored db.").waitFor();
    await page.getByRole("link", { name: "db", exact: true }).waitFor();
    expect(await heading(page)).toBe("Secrets");
    expect(await names()).toEqual(["db 2"]);
    expect((await users.bob.call("expose_link", { key_name: "db" })).status).toBe(200);
  });

  test("is sent once after a double click", async () => {
    await protect("db");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Delete secret" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete secret" }).click();
    const sent: string[] = [];
    page.on("request", (request) => sent.push(new URL(request.url()).pathname));
    await undo(page).dblclick();
    await page.getByText("Restored db.").waitFor();
    await page.getByRole("link", { name: "db", exact: true }).waitFor();
    expect(sent.filter((path) => path.endsWith("/restore"))).toHaveLength(1);
  });

  test("leaves the page with the account, and names nothing after the logout", async () => {
    await protect("db");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Delete secret" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete secret" }).click();
    await undo(page).waitFor();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in" }).waitFor();
    expect(await undo(page).count()).toBe(0);
    expect(await page.getByText("Deleted db.").count()).toBe(0);
  });

  test("restores all secrets of a selection", async () => {
    const all = Array.from({ length: 3 }, (_, at) => `a${at}`);
    for (const name of all) await protect(name);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByLabel("Select all on this page").check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 3 secrets?" });
    await dialog.getByText("move to the trash for 30 days").waitFor();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Deleted 3 secrets.").waitFor();
    await expect.poll(() => page.locator("h1:focus").count()).toBe(1);
    expect(await names()).toEqual([]);
    await undo(page).click();
    await page.getByText("Restored 3 entries.").waitFor();
    expect(await names()).toEqual(all.map((name) => `${name} 1`));
  });

  test("is offered for what was deleted before a selection failed", async () => {
    for (const name of ["a", "b", "c"]) await protect(name);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByLabel("Select a", { exact: true }).check();
    await page.getByLabel("Select b", { exact: true }).check();
    await users.ann.call("delete", { key_name: "b" });
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 2 secrets?" });
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog.getByText("1 of 2 deleted, 1 kept.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("Deleted 1 of 2 secrets.").waitFor();
    await undo(page).click();
    await page.getByText("Restored a.").waitFor();
    expect(await names()).toEqual(["a 1", "c 1"]);
  });

  test("restores a file, by keyboard", async () => {
    await users.ann.upload([{ filename: "app.conf", bytes: Buffer.from("a") }]);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/files");
    await page.getByRole("button", { name: "Delete app.conf with all versions" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete file?" });
    await dialog.getByText("move to the trash for 30 days").waitFor();
    await dialog.getByRole("button", { name: "Delete file" }).click();
    await page.getByText("Deleted app.conf.").waitFor();
    await expect.poll(() => heading(page)).toBe("Files");
    for (let presses = 0; presses < 6; presses += 1) {
      await page.keyboard.press("Shift+Tab");
      if ((await heading(page)) === "Undo") break;
    }
    await page.keyboard.press("Enter");
    await page.getByText("Restored app.conf.").waitFor();
    await page.getByRole("button", { name: "Delete app.conf with all versions" }).waitFor();
    await users.ann.call("delete_all_files");
  });

  test("that fails because the name was used again leads to the trash", async () => {
    await protect("db");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Delete secret" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete secret" }).click();
    await undo(page).waitFor();
    await protect("db", "other");
    await undo(page).click();
    await page.getByText("You have another one of this name").waitFor();
    await page.getByRole("link", { name: "Open the trash" }).click();
    await page.getByRole("heading", { level: 1, name: "Trash" }).waitFor();
  });
});

describe("a permanent deletion", () => {
  test.each(["light", "dark"] as const)(
    "of a secret says in %s colors that it is final, and leaves nothing in the trash",
    async (colorScheme) => {
      await protect("db");
      const { page, go } = await browser.visit(users.vault, { as: ann, colorScheme });
      await go(secretRoute(ann, "db"));
      await page.getByRole("button", { name: "Delete secret" }).click();
      const dialog = page.getByRole("dialog", { name: "Delete secret?" });
      await dialog.getByText("move to the trash for 30 days").waitFor();
      await dialog.getByLabel("Delete permanently").check();
      await dialog.getByText("and all its versions cannot be restored.").waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      await dialog.getByRole("button", { name: "Delete secret" }).click();
      await page.getByText("Deleted db.").waitFor();
      expect(await undo(page).count()).toBe(0);
      expect(await trashed()).toEqual([]);
      expect(await names()).toEqual([]);
    },
  );

  test("of a selection and of a file leaves nothing in the trash", async () => {
    for (const name of ["a", "b"]) await protect(name);
    await users.ann.upload([{ filename: "app.conf", bytes: Buffer.from("a") }]);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByLabel("Select all on this page").check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 2 secrets?" });
    await dialog.getByLabel("Delete permanently").check();
    await dialog.getByText("This cannot be undone.").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Deleted 2 secrets.").waitFor();
    expect(await undo(page).count()).toBe(0);
    await go("/files");
    await page.getByRole("button", { name: "Delete app.conf with all versions" }).click();
    const question = page.getByRole("dialog", { name: "Delete file?" });
    await question.getByLabel("Delete permanently").check();
    await question.getByText("cannot be restored").waitFor();
    await question.getByRole("button", { name: "Delete file" }).click();
    await page.getByText("Deleted app.conf.").waitFor();
    expect(await trashed()).toEqual([]);
    expect((await users.ann.call("list_file")).json().files).toEqual([]);
  });
});

describe("the trash", () => {
  test("is reached by keyboard, and restores and deletes permanently after a question", async () => {
    await protect("kept");
    await protect("db");
    await protect("other");
    await users.ann.call("delete", { key_name: ["db", "other"] });
    await users.ann.upload([{ filename: "app.conf", bytes: Buffer.from("a") }]);
    await users.ann.call("delete_file", { filename: "app.conf" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByRole("link", { name: "Trash" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Trash" }).waitFor();
    const row = (name: string) => page.getByRole("row").filter({ hasText: name });
    await row("db").getByText("in 30 days").waitFor();
    await row("app.conf").getByText("File, version 1, 1 byte").waitFor();
    await page.getByRole("button", { name: "Restore db" }).click();
    await page.getByText("Restored db.").waitFor();
    await expect.poll(() => row("db").count()).toBe(0);
    expect(await heading(page)).toBe("Trash");
    expect(await names()).toEqual(["db 1", "kept 1"]);
    await page.getByRole("button", { name: "Delete other permanently" }).click();
    const question = page.getByRole("dialog", { name: "Delete secret permanently?" });
    await question.getByRole("button", { name: "Cancel" }).click();
    expect(await trashed()).toEqual(expect.arrayContaining(["other", "app.conf"]));
    await page.getByRole("button", { name: "Delete other permanently" }).click();
    await question.getByRole("button", { name: "Delete permanently" }).click();
    await page.getByText("Deleted other permanently.").waitFor();
    expect(await trashed()).toEqual(["app.conf"]);
    await page.getByRole("button", { name: "Empty trash" }).click();
    const all = page.getByRole("dialog", { name: "Empty the trash?" });
    await all.getByRole("button", { name: "Empty trash" }).click();
    await page.getByText("The trash is empty").waitFor();
    expect(await trashed()).toEqual([]);
    expect(await heading(page)).toBe("Trash");
  });

  test("restores under another name when the name is taken", async () => {
    await protect("db", "old");
    await users.ann.call("delete", { key_name: "db" });
    await protect("db", "new");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/trash");
    await page.getByRole("button", { name: "Restore db" }).click();
    const dialog = page.getByRole("dialog", { name: "Restore under another name" });
    await dialog.getByText("You have another secret with the name").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    const name = dialog.getByLabel("New name");
    expect(await name.inputValue()).toBe("db-restored");
    await name.fill("db");
    await dialog.getByRole("button", { name: "Restore" }).click();
    await dialog.getByText("You have another one of this name").waitFor();
    await name.fill("db-old");
    await dialog.getByRole("button", { name: "Restore" }).click();
    await page.getByText("Restored db as db-old.").waitFor();
    await page.getByText("The trash is empty").waitFor();
    const restored = (await users.ann.call("expose", { key_name: "db-old" })).json();
    expect(restored).toMatchObject({ key_value: "old", key_version: 1 });
    expect(await names()).toEqual(["db 1", "db-old 1"]);
  });

  test("shows hidden characters of names, and pages of fifty", async () => {
    for (let at = 0; at < 51; at += 1) await protect(`n${at} \u202E.`);
    const all = Array.from({ length: 51 }, (_, at) => `n${at} \u202E.`);
    await users.ann.call("delete", { key_name: all });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/trash");
    await page.getByText("1 to 50 of 51").waitFor();
    expect(await page.locator(".hidden-character").count()).toBe(50);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51 to 51 of 51").waitFor();
  });

  test("of a vault that deletes immediately is not offered", async () => {
    await using vault = await TestVault.start({ emails: [ann] });
    const client = await vault.client(ann);
    await client.call("protect", { key_name: "db", key_value: "v" });
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/secrets");
    await page.getByRole("link", { name: "db", exact: true }).waitFor();
    expect(await page.getByRole("link", { name: "Trash" }).count()).toBe(0);
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Delete secret" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete secret?" });
    await dialog.getByText("and all its versions cannot be restored.").waitFor();
    await dialog.getByRole("button", { name: "Delete secret" }).click();
    await page.getByText("Deleted db.").waitFor();
    expect(await undo(page).count()).toBe(0);
  });
});

describe("rename", () => {
  test("keeps versions and shares, and opens the secret under its new name", async () => {
    await protect("db", "one");
    await protect("db", "two");
    const share = { key_name: "db", permission: "R", usr_id_from: ann, usr_id_to: bob };
    await users.ann.call("share", share);
    await protect("taken");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Rename" }).click();
    const dialog = page.getByRole("dialog", { name: "Rename secret" });
    const name = dialog.getByLabel("Name", { exact: true });
    await expect.poll(() => name.inputValue()).toBe("db");
    expect(await accessibilityViolations(page)).toEqual([]);
    await name.fill("taken");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await dialog.getByText("You have another one of this name").waitFor();
    await name.fill("prod/db");
    await dialog.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("heading", { level: 1, name: "prod/db" }).waitFor();
    await page.getByText("Renamed to prod/db.").waitFor();
    await page.getByRole("heading", { name: "Version 1" }).waitFor();
    expect(await names()).toEqual(["prod/db 2", "taken 1"]);
    const read = await users.bob.call("expose_link", { key_name: "prod/db" });
    expect(read.json()).toMatchObject({ key_value: "two", owner: ann });
  });

  test("is not offered to a recipient", async () => {
    await protect("db");
    const share = { key_name: "db", permission: "RW", usr_id_from: ann, usr_id_to: bob };
    await users.ann.call("share", share);
    const { page, go } = await browser.visit(users.vault, { as: bob });
    await go(secretRoute(ann, "db"));
    await page.getByRole("button", { name: "Duplicate" }).waitFor();
    expect(await page.getByRole("button", { name: "Rename" }).count()).toBe(0);
  });
});
