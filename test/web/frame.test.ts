import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { useFilledVault } from "./support/pages.ts";
import { stallDownloads } from "./support/stalled-download.ts";

const browser = new TestBrowser();
const vault = await useFilledVault();

/**
 * Returns the labels of the visible controls that an element overlaps. What the page has scrolled
 * below the header is not visible.
 */
function coveredControls(page: Page, selector: string): Promise<string[] | undefined> {
  return page.evaluate((wanted) => {
    const box = document.querySelector(wanted)?.getBoundingClientRect();
    const header = document.querySelector("header.top");
    if (!box || !header) return undefined;
    const { bottom: edge } = header.getBoundingClientRect();
    return [...document.querySelectorAll("a, button, input, select, textarea")]
      .filter((control) => {
        const { left, right, y, bottom, width, height } = control.getBoundingClientRect();
        const top = header.contains(control) ? y : Math.max(y, edge);
        return (
          width * height > 1 &&
          top < bottom &&
          left < box.right &&
          right > box.left &&
          top < box.bottom &&
          bottom > box.top
        );
      })
      .map((control) => control.textContent);
  }, selector);
}

describe("message after an action", () => {
  test.each([320, 768, 1000, 1280, 1920])(
    "is shown whole and covers no control in a window of %d pixels",
    async (width) => {
      const permissions = ["clipboard-read", "clipboard-write"];
      const { page, go } = await browser.visit(vault, {
        as: ann,
        viewport: { width, height: 800 },
        permissions,
      });
      await go(secretRoute(ann, "shop-db"));
      await page.getByRole("button", { name: "Copy value" }).first().click();
      const toast = page.locator(".toast");
      const isWhole = () =>
        toast.evaluate((card) =>
          [card, ...card.children].every(
            (element) =>
              element.scrollHeight <= element.clientHeight + 1 &&
              element.getBoundingClientRect().bottom <= card.getBoundingClientRect().bottom,
          ),
        );
      await toast.getByText("Copy something else to clear the clipboard.").waitFor();
      expect(await coveredControls(page, ".toast")).toEqual([]);
      expect(await isWhole()).toBe(true);
      await go("/secrets");
      await page.getByRole("button", { name: /^Copy value of a-rather-long-name/u }).click();
      await toast.getByText(/^Copied value of a-r.+-it-\. Copy something else/u).waitFor();
      expect(await coveredControls(page, ".toast")).toEqual([]);
      expect(await isWhole()).toBe(true);
    },
  );

  test("looks like a failure when a value cannot be fetched, or the browser denies to copy it", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const copy = page.getByRole("button", { name: "Copy value" }).first();
    await page.route("**/version_expose*", (route) => route.abort());
    await copy.click();
    await page.getByRole("alert").getByText("The vault cannot be reached").waitFor();
    await page.unroute("**/version_expose*");
    await page.evaluate(() => {
      navigator.clipboard.write = () =>
        Promise.reject(new DOMException("denied", "NotAllowedError"));
    });
    await copy.click();
    await page.getByRole("alert").getByText("The browser denied access to the clipboard").waitFor();
    expect(await page.getByRole("status").getByText("Copied").count()).toBe(0);
  });
});

describe("vault that does not respond", () => {
  test("is reported after 5 seconds, and after 30 seconds the request can be repeated", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await page.clock.install();
    const asked = new Promise<void>((resolve) => void page.route("**/list_file", () => resolve()));
    await go("/files");
    await asked;
    await page.getByText("Loading your files").waitFor();
    await page.clock.fastForward(5_000);
    await page.getByText("takes longer than usual").waitFor();
    await page.clock.fastForward(25_000);
    await page.getByText("has not responded for 30 seconds").waitFor();
    await page.getByText("takes longer than usual").waitFor({ state: "detached" });
    await page.unroute("**/list_file");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("button", { name: "app.conf", exact: true }).waitFor();
  });

  test("in the middle of a download is reported too", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    browser.keep(await stallDownloads(page, vault));
    await page.clock.install();
    await go("/files");
    await page.getByRole("button", { name: "Download app.conf" }).click();
    await page.getByRole("button", { name: "download of version 2 of app.conf" }).waitFor();
    await expect
      .poll(async () => {
        await page.clock.fastForward(1_000);
        return page.getByText("takes longer than usual").isVisible();
      })
      .toBe(true);
    await page.clock.fastForward(30_000);
    await page.getByText("has not responded for 30 seconds").waitFor();
  });

  test("to an upload ends it after 30 seconds without progress", async () => {
    const { page, go } = await browser.visit(vault, { as: ann });
    await page.clock.install();
    const arrived = new Promise<void>(
      (resolve) => void page.route("**/protect_file", () => resolve()),
    );
    await go("/files");
    await page
      .getByLabel("Files to upload")
      .setInputFiles({ name: "a.txt", mimeType: "", buffer: Buffer.from("a") });
    await arrived;
    await page.clock.fastForward(30_000);
    await page.getByText("has not responded for 30 seconds").waitFor();
    await page.unroute("**/protect_file");
    await page.getByRole("button", { name: "Try again to upload a.txt" }).click();
    await page.getByText("1 of 1 stored").waitFor();
  });
});

test("no request that has succeeded is listed as aborted by the browser", async () => {
  const { page, go } = await browser.visit(vault, { as: ann });
  const sent: string[] = [];
  const failed: string[] = [];
  const ended: string[] = [];
  page.on("request", (request) => sent.push(request.url()));
  page.on("requestfailed", (request) => failed.push(request.url()));
  page.on("requestfinished", (request) => ended.push(request.url()));
  for (let visit = 0; visit < 3; visit++) {
    await go("/files");
    await page.getByRole("button", { name: "Download app.conf" }).click();
    await page.getByText("Downloaded version 2 of app.conf.").waitFor();
    await go(secretRoute(ann, "shop-db"));
    await page.getByRole("button", { name: "Reveal value" }).first().click();
    await page.getByText("Hidden automatically").waitFor();
  }
  await expect.poll(() => ended.length + failed.length).toBe(sent.length);
  expect(failed).toEqual([]);
});
