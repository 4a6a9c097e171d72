import { readFile } from "node:fs/promises";
import type { Download } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AnnAndBob, ann, secretRoute } from "./support/ann-and-bob.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

const bytesOf = async (download: Download): Promise<Buffer> => readFile(await download.path());

describe("value as a file", () => {
  test("has the bytes of the value, and its name", async () => {
    const value = "\uFEFFüber\r\nlast line\n";
    await users.ann.call("protect", { key_name: "prod/shop/app.conf", key_value: value });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "prod/shop/app.conf"));
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as file" }).click();
    const download = await saved;
    expect(download.suggestedFilename()).toBe("app.conf");
    expect(await bytesOf(download)).toEqual(Buffer.from(value));
    expect(await page.content()).not.toContain("last line");
  });

  test("of a file that is no text is saved with the bytes of the file, or as Base64", async () => {
    const bytes = Buffer.from([0, 255, 254, 128, 10, 13, 200]);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    await page.getByLabel("Name", { exact: true }).fill("keystore");
    const chosen = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "From file" }).click();
    await (await chosen).setFiles({ name: "keystore", mimeType: "", buffer: bytes });
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("button", { name: "Save as file" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("7 bytes").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    const saved = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Save the decoded bytes" }).click();
    expect(await bytesOf(await saved)).toEqual(bytes);
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Save as file" }).click();
    const text = page.waitForEvent("download");
    await dialog.getByRole("button", { name: "Save the text" }).click();
    expect(await bytesOf(await text)).toEqual(Buffer.from(bytes.toString("base64")));
  });
});

describe("end of a value", () => {
  test.each([
    ["secret \n", "Ends with a space and a newline."],
    ["secret\n\n", "Ends with 2 newlines."],
    ["secret\r\n", "Ends with a newline (CRLF)."],
    ["secret\t  ", "Ends with a tab and 2 spaces."],
  ])("is described: %j", async (value, words) => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: value });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Reveal value" }).click();
    await page.getByText(words).waitFor();
    const shown = page.getByLabel("Value", { exact: true });
    expect(await shown.textContent()).toBe(value);
    // A screen reader reads it only where the user goes.
    const live = "[role=status], [role=alert], [aria-live]";
    expect(await shown.evaluate((text, regions) => text.closest(regions), live)).toBe(null);
  });

  test("without white space is not described", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "a b\nc" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Reveal value" }).click();
    await page.getByText("a b").waitFor();
    expect(await page.getByText("Ends with").count()).toBe(0);
  });
});
