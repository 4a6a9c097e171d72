import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AnnAndBob, ann, bob } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

/** Records the status of each response to an operation. */
function statusesOf(page: Page, operation: string): number[] {
  const statuses: number[] = [];
  page.on("response", (response) => {
    if (response.url().endsWith(`/${operation}`)) statuses.push(response.status());
  });
  return statuses;
}

/** Opens another page and then the list again. */
async function leaveAndReturn(page: Page, list: string): Promise<void> {
  await page.getByRole("link", { name: "API tokens" }).click();
  await page.getByRole("heading", { level: 1, name: "API tokens" }).waitFor();
  await page.getByRole("link", { name: list, exact: true }).click();
  await page.getByRole("heading", { level: 1, name: list }).waitFor();
}

describe("list", () => {
  test("of secrets is fetched once, and afterwards only when it has changed", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    const statuses = statusesOf(page, "list_no_dup");
    await go("/secrets");
    await page.getByRole("link", { name: "shop-db" }).waitFor();
    await leaveAndReturn(page, "Secrets");
    await expect.poll(() => statuses).toEqual([200, 304]);
    await page.getByRole("link", { name: "shop-db" }).waitFor();
    await users.ann.call("protect", { key_name: "added", key_value: "v" });
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await page.getByRole("link", { name: "added" }).waitFor();
    expect(statuses).toEqual([200, 304, 200]);
  });

  test("of files is fetched again only when it has changed", async () => {
    await users.ann.upload([{ filename: "app.conf", bytes: Buffer.from("a") }]);
    const { page, go } = await browser.visit(users.vault, { as: ann });
    const statuses = statusesOf(page, "list_file");
    await go("/files");
    await page.getByRole("button", { name: "app.conf", exact: true }).waitFor();
    await leaveAndReturn(page, "Files");
    await page.getByRole("button", { name: "app.conf", exact: true }).waitFor();
    expect(statuses).toEqual([200, 304]);
  });
});

describe("column of deadlines", () => {
  test.each([320, 1024, 1280, 1920])(
    "shows the unit of a deadline in a window of %d pixels",
    async (width) => {
      for (const [key_name, delete_time] of [
        ["minutes", 3],
        ["hours", 24 * 60],
      ] as const)
        await users.ann.call("protect", { key_name, key_value: "v", delete_time });
      await users.ann.call("protect", {
        key_name: "expired",
        key_value: "v",
        delete_time: 100,
        metadata: { expiration_time: 0 },
      });
      const metadata = { environment_type: "production", expiration_time: 90 };
      await users.bob.call("protect", { key_name: "received", key_value: "v", metadata });
      const share = { key_name: "received", permission: "RW", usr_id_from: bob, usr_id_to: ann };
      await users.bob.call("share", share);
      const { page, go } = await browser.visit(users.vault, {
        as: ann,
        viewport: { width, height: 800 },
      });
      await go("/secrets");
      await page.getByRole("link", { name: "received" }).waitFor();
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll("tbody .deadline-cell, tbody .deadline-cell *")]
          .filter((element) => element.scrollWidth > element.clientWidth + 1)
          .filter((element) => getComputedStyle(element).display !== "inline")
          .map((element) => element.textContent),
      );
      expect(cut).toEqual([]);
    },
  );
});
