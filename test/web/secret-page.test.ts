import { describe, expect, test } from "vitest";
import { Canaries } from "../lab/assertions/canary.ts";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";
import { addSecondVersion } from "./support/pages.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

/** Stores a secret of Ann's that Bob may read. */
async function storeShared(value: string): Promise<void> {
  await users.ann.call("protect", { key_name: "shop-db", key_value: value });
  await users.ann.call("share", {
    key_name: "shop-db",
    permission: "R",
    usr_id_from: ann,
    usr_id_to: bob,
  });
}

describe("secret value", () => {
  test("is in the page only while revealed, for at most 30 seconds", async () => {
    const value = new Canaries().text("value");
    await users.ann.call("protect", { key_name: "shop-db", key_value: value });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await page.clock.install();
    const requested: string[] = [];
    page.on("request", (request) => requested.push(request.url()));
    await go(secretRoute(ann, "shop-db"));
    const reveal = page.getByRole("button", { name: "Reveal value" });
    await reveal.waitFor();
    expect(await page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.getByRole("button", { name: "Hide value" }).click();
    await expect.poll(() => page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.clock.fastForward(29_000);
    expect(await page.content()).toContain(value);
    await page.clock.fastForward(1_000);
    await expect.poll(() => page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide")));
    await expect.poll(() => page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await expect.poll(() => page.content()).not.toContain(value);
    await reveal.click();
    await page.getByText(value).waitFor();
    await page.getByRole("link", { name: "Teams" }).click();
    await page.getByRole("heading", { level: 1, name: "Teams" }).waitFor();
    expect(await page.content()).not.toContain(value);
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
    expect(requested.join("\n")).not.toContain(value);
  });

  test("is copied without being revealed", async () => {
    const value = new Canaries().text("value");
    await users.ann.call("protect", { key_name: "shop-db", key_value: value });
    const { page, go } = await browser.visit(users.vault, {
      as: ann,
      permissions: ["clipboard-read", "clipboard-write"],
    });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Copy value" }).click();
    await page.getByRole("status").getByText("Copied value.").waitFor();
    expect(await page.content()).not.toContain(value);
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(value);
  });

  test("that contains markup is shown as text", async () => {
    const value = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
    await users.ann.call("protect", {
      key_name: "<b>bold</b>",
      key_value: value,
      metadata: { "<i>": value },
    });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "<b>bold</b>"));
    await page.getByRole("button", { name: "Reveal value" }).click();
    await expect.poll(() => page.getByLabel("Value", { exact: true }).textContent()).toBe(value);
    expect(await page.title()).toBe("<b>bold</b> · Vaultsync");
  });
});

test("a name with characters that cannot be seen shows them on the page and in the list", async () => {
  const name = "invoice\u202Efdp.exe  copy ";
  await users.ann.call("protect", { key_name: name, key_value: "v" });
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go("/secrets");
  const link = page.getByRole("link", { name: "invoice" });
  await expect.poll(() => link.textContent()).toBe("invoiceU+202Efdp.exe  copy␣");
  await link.click();
  await expect.poll(() => page.locator("h1").textContent()).toBe("invoiceU+202Efdp.exe  copy␣");
});

describe("own secret", () => {
  test("adds a version, reveals the values and deletes a version", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "first value" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "New version" }).click();
    await page.getByLabel("New value").fill("second value");
    await page.getByRole("button", { name: "Add version" }).click();
    const [second, first] = [
      page.getByRole("listitem").filter({ hasText: "Version 2" }),
      page.getByRole("listitem").filter({ hasText: "Version 1" }),
    ];
    await second.getByText("Latest").waitFor();
    const opener = page.getByRole("button", { name: "New version" });
    const isFocused = () => opener.evaluate((button) => button === document.activeElement);
    await expect.poll(isFocused).toBe(true);
    await opener.press("Enter");
    await page.getByRole("button", { name: "Cancel" }).press("Enter");
    await expect.poll(isFocused).toBe(true);
    await first.getByRole("button", { name: "Reveal value" }).click();
    await page.getByText("first value").waitFor();
    await page.getByRole("button", { name: "Delete version 2" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete version" }).click();
    await first.getByText("Latest").waitFor();
    expect(
      (await users.ann.call("version_list", { key_name: "shop-db" })).json().versions,
    ).toHaveLength(1);
  });

  test("keeps line breaks of metadata when another name is edited", async () => {
    const metadata = { description: "for the shop\nrotated by hand", notes: "a\r\nb", "c\nd": 1 };
    await users.ann.call("protect", { key_name: "lines", key_value: "v", metadata });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "lines"));
    await page.getByRole("button", { name: "Edit metadata" }).click();
    // Nothing is typed yet: Escape does not ask.
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Edit metadata" }).click();
    await page.getByLabel("Classification").fill("secret");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved metadata.").waitFor();
    const { versions } = (await users.ann.call("version_list", { key_name: "lines" })).json();
    expect(versions[0].metadata).toMatchObject({ ...metadata, classification: "secret" });
    expect(Object.keys(versions[0].metadata)).toHaveLength(8);
  });

  test("keeps the other metadata when some names are edited", async () => {
    await users.ann.call("protect", {
      key_name: "shop-db",
      key_value: "v",
      metadata: { team: "blue", count: 3, text: "10" },
    });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Edit metadata" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Classification").fill("secret");
    await dialog.locator('[name="custom-value"]').first().fill("[1, 2]");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved metadata.").waitFor();
    const [record] = (await users.ann.call("list_no_dup")).json().secrets;
    expect(record.metadata).toMatchObject({
      classification: "secret",
      cloud_type: "aws",
      team: [1, 2],
      count: 3,
      text: "10",
    });
  });

  test("that is shared opens from the list without a rejected request", async () => {
    await storeShared("v");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    const rejected: string[] = [];
    page.on("response", (response) => {
      if (!response.ok()) rejected.push(response.url());
    });
    await go("/secrets");
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("heading", { name: "Version 1" }).waitFor();
    expect(rejected).toEqual([]);
  });

  test("reveals values and adds versions while it is shared", async () => {
    await storeShared("first value");
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await addSecondVersion(page, "second value");
    await page.getByRole("button", { name: "Reveal value" }).first().click();
    await page.getByText("second value").waitFor();
  });

  test("is deleted automatically at a date that is shown, changed and taken back on request only", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann, timezoneId: "Asia/Tokyo" });
    await go(secretRoute(ann, "shop-db"));
    const dialog = page.getByRole("dialog");
    const keep = dialog.getByLabel("Keep until I delete it");
    const date = dialog.getByLabel("Date and time");
    const save = async () => {
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
    };
    const deleteAt = async (): Promise<number> =>
      Date.parse((await users.ann.call("list_no_dup")).json().secrets[0].delete_at);
    await page.getByRole("button", { name: "Set a date" }).click();
    expect(await keep.isChecked()).toBe(true);
    await dialog.getByLabel("Delete at a date").check();
    const year = new Date().getFullYear() + 1;
    await date.fill(`${year}-06-15T07:30`);
    expect(await accessibilityViolations(page)).toEqual([]);
    await save();
    await page.getByText("Deleted automatically in").waitFor();
    expect(Math.abs((await deleteAt()) - Date.parse(`${year}-06-14T22:30Z`))).toBeLessThan(60_000);
    const scheduled = await deleteAt();
    let requests = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("/update_key_metadata")) requests += 1;
    });
    await page.getByRole("button", { name: "Change the date" }).click();
    // The vault takes whole minutes from now.
    expect(await date.inputValue()).toBe(
      new Date(scheduled + 9 * 3_600_000).toISOString().slice(0, 16),
    );
    await save();
    expect(requests).toBe(0);
    expect(await deleteAt()).toBe(scheduled);
    await page.getByRole("button", { name: "Change the date" }).click();
    await keep.check();
    await save();
    await page.getByText("Not deleted automatically.").waitFor();
    const versions = (await users.ann.call("version_list", { key_name: "shop-db" })).json()
      .versions;
    expect(versions).toMatchObject([{ key_version: 1, delete_time: 525_600_000 }]);
  });

  test("is deleted only after confirmation", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const open = page.getByRole("button", { name: "Delete secret" });
    await open.click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    expect(await open.evaluate((button) => button === document.activeElement)).toBe(true);
    expect((await users.ann.call("list_no_dup")).json().secrets).toHaveLength(1);
    await open.click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete secret" }).click();
    await page.getByText("No secrets yet").waitFor();
    expect((await users.ann.call("list_no_dup")).json().secrets).toEqual([]);
  });
});
