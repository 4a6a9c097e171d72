import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

/** Opens the form with the text of an `.env` file. */
async function openImport(text: string): Promise<Page> {
  // High enough that the sticky header covers nothing.
  const viewport = { width: 1280, height: 1600 };
  const { page, go } = await browser.visit(users.vault, { as: ann, viewport });
  await go("/new-secret");
  await page.getByRole("button", { name: "Import a .env file" }).click();
  await page.getByLabel("Content of the .env file").fill(text);
  return page;
}

function preview(page: Page): Promise<string[]> {
  return page
    .getByRole("list", { name: "Secrets to store" })
    .getByRole("listitem")
    .allTextContents();
}

/** Returns the line of a new secret in the preview. */
const isNew = (name: string, length: string): string => `${name}New, ${length}`;

async function stored(key_name: string): Promise<object> {
  return (await users.ann.call("expose", { key_name })).json();
}

function protect(key_name: string, key_value: string): Promise<unknown> {
  return users.ann.call("protect", { key_name, key_value, metadata: { team: "blue" } });
}

describe("import of an .env file", () => {
  test("starts in the folder of the list, and in the environment of its name", async () => {
    for (const environment_type of ["prod", "staging"])
      await users.ann.call("protect", {
        key_name: `${environment_type}/db`,
        key_value: "v",
        metadata: { environment_type },
      });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets?folder=prod");
    await page.getByRole("link", { name: "New secret" }).click();
    await page.getByRole("button", { name: "Import a .env file" }).click();
    await page.getByLabel("Content of the .env file").fill("A=1");
    await page.getByRole("button", { name: "Create 1 secret" }).click();
    await page.getByText("Created 1 secret.").waitFor();
    expect(await stored("prod/A")).toMatchObject({ metadata: { environment_type: "prod" } });
    await go("/new-secret");
    await page.getByRole("button", { name: "Import a .env file" }).click();
    await page.getByLabel("Content of the .env file").fill("B=1");
    await page.getByLabel("Prefix of the names").fill("staging/");
    await page.getByRole("button", { name: "Create 1 secret" }).click();
    await page.getByText("Created 1 secret.").waitFor();
    expect(await stored("staging/B")).toMatchObject({ metadata: { environment_type: "staging" } });
  });

  test("creates what is new, and leaves what is in use unless the user updates it", async () => {
    await protect("shop/A", "before");
    const page = await openImport("A=1\nexport B='two words'\nno variable\nC=3 # comment\nC=4");
    await page.getByLabel("Prefix of the names").fill("shop/");
    await page.getByLabel("Environment").last().fill("prod");
    await expect
      .poll(() => preview(page))
      .toEqual([
        "shop/AIn use, version 1",
        isNew("shop/B", "9 characters"),
        isNew("shop/C", "1 character"),
      ]);
    await page.getByText("skipped: line 3.").waitFor();
    await page.getByText("of which the last one counts: C.").waitFor();
    await page.getByRole("button", { name: "Create 2 secrets" }).click();
    await page.getByText("Created 2 secrets.").waitFor();
    expect(await stored("shop/A")).toMatchObject({ key_value: "before", key_version: 1 });
    expect(await stored("shop/B")).toMatchObject({
      key_value: "two words",
      metadata: { environment_type: "prod", cloud_type: "aws" },
    });
    expect(await stored("shop/C")).toMatchObject({ key_value: "4" });
  });

  test("updates the chosen ones of those that differ, and keeps their metadata", async () => {
    for (const name of ["A", "B", "C"]) await protect(name, `value of ${name}`);
    const page = await openImport("A=value of A\nB=other\nC=other\nD=new");
    await page.getByText("You have 3 secrets of these names already.").waitFor();
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await expect
      .poll(() => preview(page))
      .toEqual([
        "AEqual to version 1",
        "BUpdate: differs from version 1",
        "CUpdate: differs from version 1",
        isNew("D", "3 characters"),
      ]);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Create 1 secret", exact: true }).waitFor();
    await page.getByLabel("Update all 2 that differ").check();
    await page.getByRole("button", { name: "Create 1 and update 2 secrets" }).waitFor();
    await page.getByRole("checkbox", { name: "Update: differs" }).first().uncheck();
    await page.getByRole("button", { name: "Create 1 and update 1 secret" }).click();
    await page.getByText("Created 1 and updated 1 secret.").waitFor();
    expect(await stored("A")).toMatchObject({ key_version: 1 });
    expect(await stored("B")).toMatchObject({ key_version: 1, key_value: "value of B" });
    const metadata = { team: "blue" };
    expect(await stored("C")).toMatchObject({ key_version: 2, key_value: "other", metadata });
    expect(await stored("D")).toMatchObject({ key_version: 1, key_value: "new" });
  });

  test("does not replace a version that is newer than the compared one, until it is asked again", async () => {
    await protect("A", "before");
    const page = await openImport("A=mine");
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByLabel("Update: differs from version 1").check();
    await protect("A", "of a colleague");
    await page.getByRole("button", { name: "Update 1 secret" }).click();
    await page.getByText("Not stored: A: changed after version 1. Compare again.").waitFor();
    expect(await stored("A")).toMatchObject({ key_version: 2, key_value: "of a colleague" });
    await expect.poll(() => preview(page)).toEqual(["AIn use, version 2"]);
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    const update = page.getByLabel("Update: differs from version 2");
    expect(await update.isChecked()).toBe(false);
    await update.check();
    await page.getByRole("button", { name: "Update 1 secret" }).click();
    await page.getByText("Updated 1 secret.").waitFor();
    expect(await stored("A")).toMatchObject({ key_version: 3, key_value: "mine" });
  });

  test("compares again when the text has changed since", async () => {
    await protect("A", "before");
    const page = await openImport("A=mine");
    await page.getByRole("button", { name: "Compare", exact: true }).click();
    await page.getByLabel("Update: differs from version 1").check();
    await page.getByLabel("Content of the .env file").fill("A=other");
    await expect.poll(() => preview(page)).toEqual(["AIn use, version 1"]);
    await page.getByRole("button", { name: "Create secrets" }).click();
    await page.getByText("There is nothing to store.").waitFor();
    expect(await stored("A")).toMatchObject({ key_version: 1 });
  });

  test("takes a chosen file or a dropped one, and no file that is no text", async () => {
    const page = await openImport("");
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "From file" }).last().click();
    const file = { name: ".env", mimeType: "text/plain", buffer: Buffer.from("A=1\nB=2") };
    await (await chooser).setFiles(file);
    await expect
      .poll(() => preview(page))
      .toEqual([isNew("A", "1 character"), isNew("B", "1 character")]);
    const drop = (bytes: readonly number[]): Promise<void> =>
      page.getByLabel("Content of the .env file").evaluate((area, content) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([new Uint8Array(content)], "dropped.env"));
        area.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
      }, bytes);
    await drop([...Buffer.from("C=3")]);
    await expect.poll(() => preview(page)).toEqual([isNew("C", "1 character")]);
    await drop([0xff, 0xfe, 0x00]);
    await page.getByText("dropped.env is no text.").waitFor();
    expect(await preview(page)).toEqual([isNew("C", "1 character")]);
  });
});

test("a file that is dropped on the value of a new secret becomes the value", async () => {
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go("/new-secret");
  await page.getByLabel("Value", { exact: true }).evaluate((area) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(["one\r\n"], "id_ed25519"));
    area.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
  });
  await page.getByText("id_ed25519").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("dropped");
  await page.getByRole("button", { name: "Create secret", exact: true }).click();
  await page.getByRole("heading", { name: "dropped" }).waitFor();
  expect(await stored("dropped")).toMatchObject({ key_value: "one\r\n" });
});
