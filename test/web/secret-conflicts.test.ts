import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

const protect = (body: object) => users.ann.call("protect", { key_name: "shop-db", ...body });

/** As if the user came back from another tab. */
const returnToTab = (page: Page) =>
  page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));

const shareWithBob = (permission: string) =>
  users.ann.call("share", { key_name: "shop-db", permission, usr_id_from: ann, usr_id_to: bob });

const typedValue = (page: Page) => page.getByLabel("New value").inputValue();

async function versions(): Promise<{ key_version: number; metadata: Record<string, unknown> }[]> {
  return (await users.ann.call("version_list", { key_name: "shop-db" })).json().versions;
}

async function openSecret(): Promise<Page> {
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go("/secrets");
  await page.getByRole("link", { name: "shop-db" }).waitFor();
  return page;
}

describe("a secret that a colleague changes", () => {
  test("is fetched when its page opens and when the user returns to the tab", async () => {
    await protect({ key_value: "one" });
    const page = await openSecret();
    await protect({
      key_value: "two",
      metadata: { description: "by a colleague", expiration_time: 90 },
    });
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByText("by a colleague").waitFor();
    await page.getByText("90 days").waitFor();
    await protect({ key_value: "three", metadata: { description: "changed again" } });
    await returnToTab(page);
    await page.getByText("changed again").waitFor();
    expect(await page.locator(".secret-facts").textContent()).toContain("Version 3");
  });

  test("keeps metadata edits off an outdated version, and offers the latest with the edits", async () => {
    await protect({ key_value: "one", metadata: { team: "blue", stage: "beta" } });
    const page = await openSecret();
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("button", { name: "Edit metadata" }).click();
    await protect({ key_value: "two", metadata: { description: "by a colleague" } });
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Classification").fill("edited");
    await dialog.getByRole("button", { name: "Remove stage" }).click();
    await dialog.getByRole("button", { name: "Save" }).click();
    const reason = dialog.getByRole("alert").getByText("Nothing is saved to version 1.");
    await reason.waitFor();
    // Where the user looks, also in a low window: above the fields, with the button that helps.
    await page.setViewportSize({ width: 1280, height: 400 });
    await expect
      .poll(() => reason.evaluate((text) => text.getBoundingClientRect().top))
      .toBeGreaterThan(0);
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    expect(await focused()).toBe("Edit version 2 instead");
    expect(await reason.evaluate((text) => text.getBoundingClientRect().bottom)).toBeLessThan(400);
    expect((await versions()).map(({ metadata }) => metadata["classification"])).toEqual([
      "top",
      "top",
    ]);
    await dialog.getByRole("button", { name: "Edit version 2 instead" }).click();
    await dialog.getByRole("heading", { name: "Metadata of version 2" }).waitFor();
    expect(await dialog.getByLabel("Description").inputValue()).toBe("by a colleague");
    expect(await dialog.getByLabel("Classification").inputValue()).toBe("edited");
    await dialog.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved metadata.").waitFor();
    const [first, second] = (await versions()).map(({ metadata }) => metadata);
    expect(first).toMatchObject({ classification: "top", stage: "beta" });
    expect(second).toMatchObject({
      classification: "edited",
      description: "by a colleague",
      team: "blue",
    });
    expect(second).not.toHaveProperty("stage");
  });

  test("says why metadata was not saved also when the latest version cannot be fetched", async () => {
    await protect({ key_value: "one" });
    const page = await openSecret();
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("button", { name: "Edit metadata" }).click();
    await protect({ key_value: "two" });
    await page.route("**/version_list", (route) => route.abort());
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Classification").fill("edited");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").getByText("Nothing was changed.").waitFor();
    await page.unroute("**/version_list");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("button", { name: "Edit version 2 instead" }).click();
    expect(await dialog.getByLabel("Classification").inputValue()).toBe("edited");
  });

  test("keeps the versions of another secret that has its name by now", async () => {
    for (const key_value of ["one", "two", "three"]) await protect({ key_value });
    const page = await openSecret();
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("button", { name: "Delete version 1" }).click();
    await users.ann.call("delete", { key_name: "shop-db" });
    for (const key_value of ["new one", "new two"]) await protect({ key_value });
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete version" }).click();
    await dialog.getByRole("alert").getByText("Nothing was changed.").waitFor();
    expect(await versions()).toHaveLength(2);
    await page.getByRole("heading", { name: "Version 3" }).waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Delete version" }).click();
    await page.getByText("Deleted version 1.").waitFor();
  });

  test("is not deleted in a version that the user has not seen", async () => {
    for (const key_value of ["one", "two"]) await protect({ key_value });
    const page = await openSecret();
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("button", { name: "Delete secret" }).click();
    await users.ann.call("delete", { key_name: "shop-db" });
    await protect({ key_value: "new one" });
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete secret" }).click();
    await dialog.getByRole("alert").getByText("Nothing was changed.").waitFor();
    expect(await versions()).toHaveLength(1);
    await page.getByRole("heading", { name: "Version 2" }).waitFor({ state: "detached" });
    await dialog.getByRole("button", { name: "Delete secret" }).click();
    await page.getByText("Deleted shop-db.").waitFor();
  });

  test("is kept with the reason when it is deleted with secrets that have not changed", async () => {
    await users.ann.call("protect", { key_name: "shop-cache", key_value: "v" });
    for (const key_value of ["one", "two"]) await protect({ key_value });
    const page = await openSecret();
    await page.getByLabel("Select all on this page").check();
    await page.getByRole("button", { name: "Delete" }).click();
    await users.ann.call("delete", { key_name: "shop-db" });
    await protect({ key_value: "new one" });
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByText("1 of 2 deleted, 1 kept.").waitFor();
    await dialog.getByText("Nothing was changed.").waitFor();
    expect(await versions()).toHaveLength(1);
  });

  test("gets a new version only after the user has seen the colleague's", async () => {
    await protect({ key_value: "one" });
    const page = await openSecret();
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("button", { name: "New version" }).click();
    await page.getByLabel("New value").fill("mine");
    await protect({ key_value: "a colleague's" });
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByRole("alert").getByText("Your value is not stored yet.").waitFor();
    await page.getByRole("heading", { name: "Version 2" }).waitFor();
    expect(await versions()).toHaveLength(2);
    await page.getByRole("button", { name: "Add version anyway" }).click();
    await page.getByText("Added version 3 of shop-db.").waitFor();
    expect((await users.ann.call("expose", { key_name: "shop-db" })).json().key_value).toBe("mine");
  });

  test("that was deleted becomes a new secret only on request, with its metadata", async () => {
    const metadata = { environment_type: "prod", expiration_time: 90, team: { name: "blue" } };
    await protect({ key_value: "one", metadata });
    const page = await openSecret();
    await page.getByRole("link", { name: "shop-db" }).click();
    await page.getByRole("button", { name: "New version" }).click();
    await page.getByLabel("New value").fill("typed");
    await users.ann.call("delete", { key_name: "shop-db" });
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByRole("alert").getByText("was deleted meanwhile").waitFor();
    expect((await users.ann.call("list_no_dup")).json().secrets).toEqual([]);
    await page.getByRole("button", { name: "Create new secret" }).click();
    await page.getByText("Created shop-db.").waitFor();
    expect((await users.ann.call("expose", { key_name: "shop-db" })).json()).toMatchObject({
      key_value: "typed",
      key_version: 1,
      metadata,
    });
  });
});

test("an earlier version is made current after a question, and each version names its author", async () => {
  await protect({ key_value: "first value" });
  await protect({ key_value: "second value" });
  await users.ann.call("share", {
    key_name: "shop-db",
    permission: "RW",
    usr_id_from: ann,
    usr_id_to: bob,
  });
  const { page, go } = await browser.visit(users.vault, { as: bob });
  await go(secretRoute(ann, "shop-db"));
  expect(await page.getByRole("button", { name: "Make current: version 2" }).count()).toBe(0);
  await page.getByRole("button", { name: "Make current: version 1" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Compare with version 2" }).click();
  await dialog.getByText("1 line removed, 1 added.").waitFor();
  await expect
    .poll(() => dialog.getByLabel("Difference").textContent())
    .toBe("− second value\n+ first value\n");
  await dialog.getByRole("button", { name: "Make current" }).click();
  await page.getByText("Version 3 has the value of version 1.").waitFor();
  const items = page.getByRole("list").filter({ hasText: "Version 3" }).getByRole("listitem");
  await expect.poll(() => items.count()).toBe(3);
  expect(await items.first().textContent()).toContain("by you");
  expect(await items.last().textContent()).toContain(`by ${ann}`);
  expect((await users.ann.call("expose_link", { key_name: "shop-db" })).json().key_value).toBe(
    "first value",
  );
});

describe("a typed value stays in its form", () => {
  test("when a user who may only write returns to the tab", async () => {
    await protect({ key_value: "one" });
    await shareWithBob("W");
    const { page, go } = await browser.visit(users.vault, { as: bob });
    await go(secretRoute(ann, "shop-db"));
    await page.getByLabel("New value").fill("typed");
    // The response would replace the form: with other buttons, or with why there is none.
    await shareWithBob("RW");
    const fetched: string[] = [];
    page.on("request", (request) => fetched.push(new URL(request.url()).pathname));
    await returnToTab(page);
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByText("Added version 2 of shop-db.").waitFor();
    expect((await users.ann.call("expose_link", { key_name: "shop-db" })).json().key_value).toBe(
      "typed",
    );
    expect(fetched).not.toContain("/v1/user/secret/version_list_for_link");
  });

  test("when the permission is narrowed to reading", async () => {
    await protect({ key_value: "one" });
    await shareWithBob("RW");
    const { page, go } = await browser.visit(users.vault, { as: bob });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "New version" }).click();
    await page.getByLabel("New value").fill("typed");
    await shareWithBob("R");
    await returnToTab(page);
    await page.locator(".secret-facts").getByText("Read", { exact: true }).waitFor();
    expect(await typedValue(page)).toBe("typed");
    await page.getByRole("button", { name: "Add version" }).click();
    await page.getByRole("alert").getByText("read access only").waitFor();
    expect(await typedValue(page)).toBe("typed");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Duplicate" }).waitFor();
    expect(await page.getByRole("button", { name: "New version" }).count()).toBe(0);
  });
});
