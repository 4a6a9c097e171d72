import type { Page, Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AnnAndBob, ann, bob } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

/** Stores secrets of Ann and selects them all in her list. */
async function selectAll(count: number): Promise<Page> {
  for (let at = 0; at < count; at += 1)
    await users.ann.call("protect", { key_name: `batch-${at + 100}`, key_value: "v" });
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go("/secrets");
  for (let from = 0; from < count; from += 50) {
    if (from > 0) await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(`${from + 1} to ${Math.min(count, from + 50)} of ${count}`).waitFor();
    await page.getByLabel("Select all on this page").check();
  }
  await page.getByText(`${count} selected`).waitFor();
  return page;
}

/** Keeps the requests to an operation until `release` is called, and counts them. */
async function holdRequests(page: Page, operation: string) {
  const held: Route[] = [];
  const bodies: { readonly usr_id_to?: unknown }[] = [];
  let released = false;
  await page.route(`**/v1/user/secret/${operation}`, async (route) => {
    bodies.push(route.request().postDataJSON());
    if (released) await route.continue();
    else held.push(route);
  });
  return {
    bodies,
    first: async () => {
      await expect.poll(() => held.length).toBe(1);
    },
    release: async () => {
      released = true;
      for (const route of held) await route.continue();
    },
  };
}

const secretsOf = async (): Promise<{ key_name: string; shared: boolean }[]> =>
  (await users.ann.call("list_no_dup")).json().secrets;

describe("work on many secrets", () => {
  test("stops with the request in flight, and says how many are deleted and kept", async () => {
    const page = await selectAll(120);
    const requests = await holdRequests(page, "delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 120 secrets?" });
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await requests.first();
    await dialog.getByRole("button", { name: "Stop" }).click();
    await requests.release();
    await dialog.getByText("100 of 120 deleted, 20 kept.").waitFor();
    expect(await secretsOf()).toHaveLength(20);
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.getByText("1 to 20 of 20").waitFor();
    expect(requests.bodies).toHaveLength(1);
    expect(await secretsOf()).toHaveLength(20);
  });

  test("stops at Escape, and shares with the recipient of the first click", async () => {
    // Who shares with Ann takes more than a hundred secrets from her.
    await users.bob.call("protect", { key_name: "mail", key_value: "v" });
    await users.bob.call("share", {
      key_name: "mail",
      permission: "W",
      usr_id_from: bob,
      usr_id_to: ann,
    });
    const page = await selectAll(120);
    const requests = await holdRequests(page, "share");
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share 120 secrets" });
    const recipient = dialog.getByLabel("User or team", { exact: true });
    await recipient.fill(`${bob},`);
    await recipient.press("Tab");
    await page.getByLabel("Permission", { exact: true }).press("Control+Enter");
    await requests.first();
    expect(await recipient.isDisabled()).toBe(true);
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await expect.poll(focused).toBe("Share");
    await page.keyboard.press("Escape");
    await requests.release();
    await dialog.getByText("100 of 120 shared, 20 not.").waitFor();
    expect((await secretsOf()).filter(({ shared }) => shared)).toHaveLength(100);
    // Otherwise the last secrets would go to another recipient than the first ones.
    expect(await recipient.isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Shared 120 secrets.").waitFor();
    expect(requests.bodies.map(({ usr_id_to: to }) => to)).toEqual([[bob], [bob]]);
  });

  test("of some secrets leaves none of them selected after they are restored", async () => {
    await users.ann.call("protect", { key_name: "other", key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await users.ann.call("protect", { key_name: "batch", key_value: "v" });
    await go("/secrets");
    await page.getByLabel("Select batch").check();
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("Deleted 1 secret.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("Restored batch.").waitFor();
    await page.getByLabel("Select other").check();
    await page.getByText("1 selected", { exact: true }).waitFor();
  });

  test("ends when its page is left", async () => {
    const page = await selectAll(120);
    const requests = await holdRequests(page, "delete");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await requests.first();
    await page.evaluate(() => void (location.hash = "#/files"));
    await page.getByRole("heading", { level: 1, name: "Files" }).waitFor();
    await requests.release();
    await page.getByText("100 of 120 deleted, 20 kept.").waitFor();
    expect(await secretsOf()).toHaveLength(20);
  });

  test("of an import stops with the request in flight, and says how many are created", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    await page.getByRole("button", { name: "Import a .env file" }).click();
    await page.getByLabel("Content of the .env file").fill("A=1\nB=2\nC=3");
    const requests = await holdRequests(page, "protect");
    await page.getByRole("button", { name: "Create 3 secrets" }).click();
    await requests.first();
    await page.getByRole("button", { name: "Stop" }).click();
    await requests.release();
    await page.getByText("Stopped: stored 1 of 3 secrets.").waitFor();
    expect(await secretsOf()).toMatchObject([{ key_name: "A" }]);
    await page.getByRole("button", { name: "Create 2 secrets" }).click();
    await page.getByText("Created 2 secrets.").waitFor();
    expect(await secretsOf()).toHaveLength(3);
  });
});
