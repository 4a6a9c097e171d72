import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Locator, Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData } from "../lab/vault/vault-data.ts";
import { accessibilityViolations } from "./support/accessibility.ts";
import { TestBrowser } from "./support/browser.ts";
import { stallDownloads } from "./support/stalled-download.ts";
import { sha256 } from "../lab/vault/requests.ts";

const browser = new TestBrowser();
const ann = "ann@example.com";

let vault: TestVault;
let anns: VaultClient;
beforeEach(async () => {
  vault = browser.keep(await TestVault.start({ emails: [ann] }));
  anns = await vault.client(ann);
});

async function listed(): Promise<{ filename: string; version: number; sha256: string }[]> {
  return (await anns.call("list_file")).json().files;
}

/** Returns the button of a file's row. It shows the versions of the file. */
function row(page: Page, name: string): Locator {
  return page.getByRole("button", { name, exact: true });
}

async function pick(page: Page, name: string, buffer: Buffer): Promise<void> {
  await page
    .getByLabel("Files to upload")
    .setInputFiles({ name, mimeType: "application/octet-stream", buffer });
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
    for (const { name } of files) await row(page, name).waitFor();
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
    await page.getByText("2 versions").waitFor();
    await row(page, "app.conf").click();
    await page.getByText(sha256(second).slice(0, 12)).waitFor();
    await page.getByText(sha256(first).slice(0, 12)).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
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
    await row(page, "dropped.txt").waitFor();
    // Next to the zone the browser would open the file in place of the page.
    const missed = await page.evaluateHandle(
      () => new DragEvent("drop", { bubbles: true, cancelable: true }),
    );
    expect(await page.evaluate((event) => document.body.dispatchEvent(event), missed)).toBe(false);
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
    await expect
      .poll(async () => Number(await progress.getAttribute("value")), { timeout: 15_000 })
      .toBeGreaterThan(0);
    await page.getByRole("button", { name: "Cancel upload of slow.bin" }).click();
    await page.getByText("Canceled.").waitFor();
    expect(await listed()).toEqual([]);
  });

  test("that is canceled once all is sent is not reported as certainly canceled", async () => {
    await using data = await createVaultData();
    const held = browser.keep(await TestVault.start({ emails: [ann], data: data.location }));
    const { page, go } = await browser.visit(held, { as: ann });
    await go("/files");
    await page.getByText("No files yet").waitFor();
    await using writes = await data.hold();
    await pick(page, "sent.bin", randomBytes(100));
    await page.getByText("Storing").waitFor();
    await page.getByRole("button", { name: "Cancel upload of sent.bin" }).click();
    await page.getByText("The vault may have stored it already").waitFor();
    await writes.commit();
  });

  test("that is canceled while the session is renewed is not sent again", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.getByText("No files yet").waitFor();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/app/session", async (route) => {
      arrive();
      await released;
      await route.continue();
    });
    // Another session of the user: the page's requests have the token of the former one.
    const data = { email: ann, password: vault.passwords.get(ann) };
    await page.context().request.post(`${vault.url}/app/log_in`, { data });
    await pick(page, "canceled.bin", randomBytes(100));
    await arrived;
    await page.getByRole("button", { name: "Cancel upload of canceled.bin" }).click();
    release();
    await pick(page, "next.bin", randomBytes(100));
    await row(page, "next.bin").waitFor();
    expect(await listed()).toMatchObject([{ filename: "next.bin" }]);
  });

  test("is possible with an address beyond Latin-1", async () => {
    const ivan = "иван@example.com";
    const server = browser.keep(await TestVault.start({ emails: [ivan] }));
    const { page, go } = await browser.visit(server, { as: ivan });
    await go("/files");
    await pick(page, "app.conf", randomBytes(100));
    await row(page, "app.conf").waitFor();
  });

  test("of a file above the limit fails with the reason", async () => {
    const small = browser.keep(
      await TestVault.start({ emails: [ann], limits: { fileBytes: 1000 } }),
    );
    const { page, go } = await browser.visit(small, { as: ann });
    await go("/files");
    await pick(page, "large.bin", randomBytes(5000));
    await page
      .getByRole("listitem")
      .filter({ hasText: "large.bin" })
      .getByRole("status")
      .getByText("large")
      .waitFor();
    await page.getByText("No files yet").waitFor();
  });
});

describe("upload in progress", () => {
  test("continues on other pages, which show it; closing the tab and logging out ask first", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.getByText("No files yet").waitFor();
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await page.route("**/protect_file", async (route) => {
      arrive();
      await released;
      await route.continue();
    });
    await pick(page, "held.bin", randomBytes(100));
    await arrived;
    await page.getByRole("link", { name: "Secrets" }).click();
    await page.getByRole("heading", { level: 1, name: "Secrets" }).waitFor();
    await page.getByRole("progressbar", { name: "Upload of held.bin" }).waitFor();
    const clear = page.getByRole("button", { name: "Clear finished" });
    expect(await clear.count()).toBe(0);
    await page.getByRole("button", { name: "Log out" }).click();
    await page
      .getByRole("dialog", { name: "Log out during uploads?" })
      .getByRole("button", { name: "Cancel" })
      .click();
    const question = page.waitForEvent("dialog");
    await page.evaluate(() => void setTimeout(() => location.reload()));
    expect((await question).type()).toBe("beforeunload");
    await (await question).dismiss();
    release();
    await page.getByText("1 of 1 stored").waitFor();
    expect(await clear.count()).toBe(1);
    await page.getByRole("link", { name: "Files" }).click();
    await row(page, "held.bin").waitFor();
    await page.getByText("1 of 1 stored").waitFor({ state: "detached" });
    expect(await listed()).toHaveLength(1);
  });

  test("that has failed or was canceled can be tried again", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.route("**/protect_file", (route) => route.abort());
    await pick(page, "app.conf", randomBytes(100));
    await page.getByText("cannot be reached").waitFor();
    await page.unroute("**/protect_file");
    await page.getByRole("button", { name: "Try again to upload app.conf" }).click();
    await row(page, "app.conf").waitFor();
    expect(await listed()).toHaveLength(1);
  });

  test("of a file above 64 MiB is not started", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    const sent: string[] = [];
    page.on("request", (request) => sent.push(new URL(request.url()).pathname));
    await go("/files");
    await page.getByText("At most 64 MiB a file").waitFor();
    const transfer = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File([new Uint8Array(64 * 1024 * 1024 + 1)], "large.bin"));
      data.items.add(new File(["small"], "small.txt"));
      return data;
    });
    await page.locator(".drop-zone").dispatchEvent("drop", { dataTransfer: transfer });
    await page.getByText("Not sent: it has 64.1 MiB. At most 64 MiB a file.").waitFor();
    await row(page, "small.txt").waitFor();
    expect(sent.filter((path) => path.endsWith("/protect_file"))).toHaveLength(1);
    expect(await page.getByRole("button", { name: "Try again to upload large.bin" }).count()).toBe(
      0,
    );
  });
});

describe("stored files", () => {
  test("are searched and sorted in the address, in rows of one line whatever their names", async () => {
    const files = ["app.conf", "x".repeat(200), "ca.pem"].map((filename, at) => ({
      filename,
      bytes: randomBytes(10 * (at + 1)),
    }));
    for (const file of files) await anns.upload([file]);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files?order=size");
    const names = () => page.locator("tbody .name-cell").allTextContents();
    await expect.poll(names).toEqual(["ca.pem", "x".repeat(200), "app.conf"]);
    const heights = await page
      .locator("tbody tr")
      .evaluateAll((rows) => rows.map((one) => one.getBoundingClientRect().height));
    expect(new Set(heights)).toEqual(new Set([44]));
    await page.getByLabel("Search files").fill("ca");
    await expect.poll(names).toEqual(["ca.pem"]);
    await page.reload();
    await expect.poll(names).toEqual(["ca.pem"]);
  });

  test("with a leading dot are downloaded with a note that the browser may remove it", async () => {
    await anns.upload([{ filename: ".env", bytes: Buffer.from("A=1") }]);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.getByRole("button", { name: "Download .env" }).click();
    await page.getByText("without the leading dot").waitFor();
  });

  test("each version is downloaded unchanged", async () => {
    const versions = [randomBytes(1000), randomBytes(200_000)];
    for (const bytes of versions) await anns.upload([{ filename: "app.conf", bytes }]);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await row(page, "app.conf").click();
    for (const [at, bytes] of versions.entries()) {
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: `Download version ${at + 1} of app.conf` }).click();
      expect((await download).suggestedFilename()).toBe("app.conf");
      expect(sha256(await readFile(await (await download).path()))).toBe(sha256(bytes));
    }
  });

  test("show the progress of a download that can be canceled and repeated", async () => {
    const bytes = randomBytes(200_000);
    await anns.upload([{ filename: "app.conf", bytes }]);
    const { page, go } = await browser.visit(vault, { as: ann });
    const stalled = browser.keep(await stallDownloads(page, vault));
    await go("/files");
    await page.getByRole("button", { name: "Download app.conf" }).click();
    const cancel = page.getByRole("button", { name: "download of version 1 of app.conf" });
    await cancel.getByText("50 %").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await cancel.click();
    await stalled.closed;
    await page.getByText("Canceled the download of version 1 of app.conf.").waitFor();
    await stalled.end();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download app.conf" }).click();
    expect(sha256(await readFile(await (await download).path()))).toBe(sha256(bytes));
  });

  test("a version and a whole file are deleted only after confirmation", async () => {
    for (const filename of ["app.conf", "app.conf", "kept"])
      await anns.upload([{ filename, bytes: randomBytes(10) }]);
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await row(page, "app.conf").click();
    await page.getByRole("button", { name: "Delete version 2 of app.conf" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete version" }).click();
    await page.getByText("Deleted version 2 of app.conf.").waitFor();
    expect(await listed()).toMatchObject([
      { filename: "app.conf", version: 1 },
      { filename: "kept" },
    ]);
    await page.getByRole("button", { name: "Delete app.conf with all versions" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    expect(await listed()).toHaveLength(2);
    await page.getByRole("button", { name: "Delete app.conf with all versions" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete file" }).click();
    await row(page, "app.conf").waitFor({ state: "detached" });
    expect(await listed()).toMatchObject([{ filename: "kept" }]);
  });

  test("a file that was recreated while the page asks is kept", async () => {
    const upload = () => anns.upload([{ filename: "app.conf", bytes: randomBytes(10) }]);
    await upload();
    await upload();
    const { page, go } = await browser.visit(vault, { as: ann });
    await go("/files");
    await page.getByRole("button", { name: "Delete app.conf with all versions" }).click();
    await anns.call("delete_file", { filename: "app.conf" });
    await upload();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Delete file" }).click();
    await dialog.getByRole("alert").getByText("Nothing was changed.").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await listed()).toMatchObject([{ filename: "app.conf", version: 1 }]);
    await page.getByRole("button", { name: "Delete app.conf with all versions" }).click();
    await dialog.getByRole("button", { name: "Delete file" }).click();
    await page.getByText("Deleted app.conf.").waitFor();
  });
});
