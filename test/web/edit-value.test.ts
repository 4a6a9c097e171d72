import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

const env = Array.from({ length: 40 }, (_, at) => `NAME_${at}=value ${at}`).join("\n");
const changed = env.replace("value 20", "edited");

const store = (key_value: string) => users.ann.call("protect", { key_name: "shop/env", key_value });
const current = async (): Promise<{ key_value: string; key_version: number }> =>
  (await users.ann.call("expose", { key_name: "shop/env" })).json();

async function openSecret(): Promise<Page> {
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go(secretRoute(ann, "shop/env"));
  return page;
}

const isFocused = (page: Page, name: string): Promise<boolean> =>
  page.getByRole("button", { name }).evaluate((button) => button === document.activeElement);

describe("value", () => {
  test("is edited in place in two clicks, with the difference shown before it is stored", async () => {
    await store(env);
    const page = await openSecret();
    await page.getByRole("button", { name: "Edit value" }).click();
    const field = page.getByLabel("Value of version 1");
    await expect.poll(() => field.inputValue()).toBe(env);
    expect(await field.evaluate((area) => area === document.activeElement)).toBe(true);
    await page.getByText("Unchanged.").waitFor();
    await field.fill(changed);
    await page.getByText("1 line removed, 1 added.").waitFor();
    const difference = page.getByLabel("Difference");
    await expect
      .poll(() => difference.textContent())
      .toContain("− NAME_20=value 20\n+ NAME_20=edited\n");
    expect(await difference.textContent()).toContain("17 unchanged lines");
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Hide", exact: true }).click();
    expect(await difference.count()).toBe(0);
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await page.getByText("Added version 2 of shop/env.").waitFor();
    expect(await current()).toMatchObject({ key_value: changed, key_version: 2 });
    await expect.poll(() => isFocused(page, "Edit value")).toBe(true);
    expect(await page.content()).not.toContain("NAME_20");
  });

  test("of a colleague is not overwritten: the edit is compared with it and stored on request", async () => {
    await store("a\nb");
    const page = await openSecret();
    await page.getByRole("button", { name: "Edit value" }).click();
    const field = page.getByLabel("Value of version 1");
    await field.fill("a\nmine");
    await store("a\ncolleague's");
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await page.getByRole("alert").getByText("Your value is not stored yet.").waitFor();
    await expect
      .poll(() => page.getByLabel("Difference").textContent())
      .toBe("  a\n− colleague's\n+ mine\n");
    expect((await current()).key_value).toBe("a\ncolleague's");
    await page.getByRole("button", { name: "Add version anyway" }).click();
    await page.getByText("Added version 3 of shop/env.").waitFor();
    expect((await current()).key_value).toBe("a\nmine");
  });

  test("keeps its line ends, and is not stored when it is unchanged or the form is canceled", async () => {
    await store("one\r\ntwo\r\n");
    const page = await openSecret();
    const edit = page.getByRole("button", { name: "Edit value" });
    await edit.click();
    const field = page.getByLabel("Value of version 1");
    await page.getByText("Unchanged.").waitFor();
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await page.getByRole("alert").getByText("Nothing was stored.").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await expect.poll(() => isFocused(page, "Edit value")).toBe(true);
    expect(await current()).toMatchObject({ key_version: 1 });
    await edit.click();
    await field.fill("one\n2\n");
    await page.getByRole("button", { name: "Save as a new version" }).click();
    await page.getByText("Added version 2 of shop/env.").waitFor();
    expect((await current()).key_value).toBe("one\r\n2\r\n");
    await store("one\r\ntwo\n");
    await page.reload();
    await edit.click();
    await page.getByRole("alert").getByText("different line ends").waitFor();
  });
});

test("any two versions are compared, with what they have in common folded", async () => {
  for (const value of [env, changed, `${changed}\nADDED=1`]) await store(value);
  const page = await openSecret();
  await page.getByRole("button", { name: "Compare version 2", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "Compare versions" });
  await dialog.getByText("1 line removed, 1 added.").waitFor();
  await dialog.getByText("17 unchanged lines").waitFor();
  expect(await accessibilityViolations(page)).toEqual([]);
  await dialog.getByLabel("To version").selectOption("3");
  await dialog.getByText("1 line removed, 2 added.").waitFor();
  await dialog.getByLabel("From version").selectOption("2");
  await dialog.getByText("1 line added.").waitFor();
  await dialog.getByLabel("To version").selectOption("2");
  await dialog.getByText("The values are equal.").waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await expect.poll(() => page.content()).not.toContain("NAME_20");
});
