import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { TestVault } from "../support/vault/test-vault.ts";
import type { VaultClient } from "../support/vault/vault-client.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const ann = "ann@example.com";

let vault: TestVault;
let anns: VaultClient;
beforeEach(async () => {
  vault = browser.keep(await TestVault.start({ emails: [ann] }));
  anns = await vault.client(ann);
});

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function listed(): Promise<{ filename: string; version: number; sha256: string }[]> {
  return (await anns.call("list_file")).json().files;
}

async function pick(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page.getByLabel("Files to upload").setInputFiles({ name, mimeType: "application/octet-stream", buffer });
}

describe("file upload", () => {
  test("stores several files under their names", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.getByText("No files yet").waitFor();
    const files = ["app.conf", "schlüssel 🔑.pem", "empty"].map((name, at) => ({
      name,
      mimeType: "",
      buffer: randomBytes(at === 2 ? 0 : 5000),
    }));
    await page.getByLabel("Files to upload").setInputFiles(files);
    for (const { name } of files) await page.getByRole("heading", { name }).waitFor();
    const stored = new Map((await listed()).map((file) => [file.filename, file.sha256]));
    expect(stored).toEqual(new Map(files.map(({ name, buffer }) => [name, sha256(buffer)])));
  });

  test("stores a file of an existing name as the next version with its own digest", async () => {
    const [first, second] = [randomBytes(1000), randomBytes(2000)];
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await pick(page, "app.conf", first);
    await page.getByText("Version 1").waitFor();
    await pick(page, "app.conf", second);
    await page.getByText("Version 2").waitFor();
    await page.getByText(sha256(second).slice(0, 12)).waitFor();
    await page.getByText("1 earlier version").click();
    await page.getByText(sha256(first).slice(0, 12)).waitFor();
  });

  test("accepts files by drag and drop", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["dropped"], "dropped.txt"));
      return data;
    });
    await page.locator(".drop-zone").dispatchEvent("drop", { dataTransfer: transfer });
    await page.getByRole("heading", { name: "dropped.txt" }).waitFor();
    expect((await listed())[0]).toMatchObject({ sha256: sha256(Buffer.from("dropped")) });
  });

  test("shows its progress and stops when it is canceled", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    const network = await page.context().newCDPSession(page);
    const uploadThroughput = 100_000;
    await network.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput,
    });
    await pick(page, "slow.bin", randomBytes(2_000_000));
    const progress = page.getByRole("progressbar", { name: "Upload of slow.bin" });
    await expect.poll(async () => Number(await progress.getAttribute("value")), { timeout: 15_000 }).toBeGreaterThan(0);
    await page.getByRole("button", { name: "Cancel upload of slow.bin" }).click();
    await page.getByText("Canceled.").waitFor();
    expect(await listed()).toEqual([]);
  });

  test("of a file above the limit fails with the reason", async () => {
    const small = browser.keep(await TestVault.start({ emails: [ann], limits: { fileBytes: 1000 } }));
    const { page, go } = await browser.visit(small, { as: ann });
    await go("/files");
    await pick(page, "large.bin", randomBytes(5000));
    await page.getByRole("listitem").filter({ hasText: "large.bin" }).getByRole("status").getByText("large").waitFor();
    await page.getByText("No files yet").waitFor();
  });
});

describe("stored files", () => {
  test("each version is downloaded unchanged", async () => {
    const versions = [randomBytes(1000), randomBytes(200_000)];
    for (const bytes of versions) await anns.upload([{ filename: "app.conf", bytes }]);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.getByText("1 earlier version").click();
    for (const [at, bytes] of versions.entries()) {
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: `Download version ${at + 1} of app.conf` }).click();
      expect((await download).suggestedFilename()).toBe("app.conf");
      expect(sha256(await readFile(await (await download).path()))).toBe(sha256(bytes));
    }
  });

  test("a version and a whole file are deleted only after confirmation", async () => {
    for (const filename of ["app.conf", "app.conf", "kept"]) await anns.upload([{ filename, bytes: randomBytes(10) }]);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.getByRole("button", { name: "Delete version 2 of app.conf" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Deleted version 2 of app.conf.").waitFor();
    expect(await listed()).toMatchObject([{ filename: "app.conf", version: 1 }, { filename: "kept" }]);
    await page.getByRole("button", { name: "Delete app.conf" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    expect(await listed()).toHaveLength(2);
    await page.getByRole("button", { name: "Delete app.conf" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("heading", { name: "app.conf" }).waitFor({ state: "detached" });
    expect(await listed()).toMatchObject([{ filename: "kept" }]);
  });
});
