import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

beforeEach(async () => {
  await users.ann.call("protect", { key_name: "shop-db", key_value: "v" });
  await users.bob.call("protect", { key_name: "mail", key_value: "v" });
  const share = { key_name: "mail", permission: "R", usr_id_from: bob, usr_id_to: ann };
  await users.bob.call("share", share);
});

function chosen(page: Page): Promise<string[]> {
  return page
    .getByRole("list", { name: "User or team: chosen" })
    .getByRole("listitem")
    .evaluateAll((all) => all.map((one) => (one instanceof HTMLElement ? one.innerText : "")))
    .then((texts) => texts.map((text) => text.split(/\s+/u).join(" ")));
}

async function shares(): Promise<{ to: string }[]> {
  return (await users.ann.call("share_list", { key_name: "shop-db" })).json().shares;
}

describe("recipients of a share", () => {
  test("are chips that mark who has no account for certain, removed by keyboard", async () => {
    const viewport = { width: 1280, height: 1600 };
    const { page, go } = await browser.visit(users.vault, { as: ann, viewport });
    await go(secretRoute(ann, "shop-db"));
    const field = page.getByLabel("User or team", { exact: true });
    await field.focus();
    await page.keyboard.type("Bob@example.com,");
    await page.keyboard.type("stranger@example.com");
    await page.keyboard.press("Enter");
    await page.keyboard.type("typo@exmaple.com ");
    await expect
      .poll(() => chosen(page))
      .toEqual([bob, "stranger@example.com No account?", "typo@exmaple.com No account?"]);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await shares()).toEqual([]);
    await page.getByText("Added typo@exmaple.com").waitFor({ state: "attached" });
    await page.keyboard.press("Backspace");
    await page.getByText("Removed typo@exmaple.com").waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Remove stranger@example.com" }).press("Enter");
    await expect.poll(() => chosen(page)).toEqual([bob]);
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
    await page.keyboard.press("Enter");
    await page.getByText(`Shared with ${bob}.`).waitFor();
    expect(await shares()).toMatchObject([{ to: bob }]);
    await expect.poll(() => field.inputValue()).toBe("");
    expect(await chosen(page)).toEqual([]);
  });

  test("are one chip for each pasted address, and count together with what is typed", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const field = page.getByLabel("User or team", { exact: true });
    await field.focus();
    await field.evaluate((input) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text", "a@example.com;\nb@example.com");
      input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, cancelable: true }));
    });
    await expect.poll(() => chosen(page)).toHaveLength(2);
    await field.fill("c@example.com");
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await expect
      .poll(() => dialog.getByRole("listitem").allTextContents())
      .toEqual(["a@example.com", "b@example.com", "c@example.com"]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await chosen(page)).toHaveLength(2);
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByRole("dialog", { name: "Discard what you entered?" }).waitFor();
    await page.keyboard.press("Escape");
    await field.fill("");
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByRole("dialog", { name: "Discard what you entered?" }).waitFor();
  });

  test("are suggested, and a chosen suggestion is a chip", async () => {
    await users.ann.call("team_create", { group_id: "on call", members: ["new@example.com"] });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "shop-db"));
    const offered = page.locator("datalist option");
    const values = () => offered.evaluateAll((all) => all.map((one) => one.getAttribute("value")));
    await expect.poll(values).toEqual(["on call", bob, "new@example.com"]);
    const field = page.getByLabel("User or team", { exact: true });
    // The list of suggestions belongs to the browser, not to the page.
    await field.evaluate((input: HTMLInputElement) => {
      input.value = "on call";
      const chosenOne = { inputType: "insertReplacementText", bubbles: true };
      input.dispatchEvent(new InputEvent("input", chosenOne));
    });
    await expect.poll(() => chosen(page)).toEqual(["on call Team"]);
    await page.getByText("Members of on call, a team of yours").waitFor();
    expect(await values()).toEqual([bob, "new@example.com"]);
    await field.fill(bob);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    await page.getByText("Share with a team separately.").first().waitFor();
    expect(await shares()).toEqual([]);
    await field.fill("nowhere");
    await page.keyboard.press("Enter");
    await expect.poll(() => chosen(page)).toEqual(["on call Team", "nowhere No team"]);
    await users.ann.call("team_delete", { group_id: "on call" });
  });

  test("do not widen a narrow page", async () => {
    const { page, go } = await browser.visit(users.vault, {
      as: ann,
      viewport: { width: 320, height: 740 },
    });
    await go(secretRoute(ann, "shop-db"));
    await page.getByLabel("User or team", { exact: true }).focus();
    await page.keyboard.type(`${"a-long-address".repeat(4)}@department.example.com,`);
    await expect.poll(() => chosen(page)).toHaveLength(1);
    const excess = () =>
      page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
    expect(await excess()).toBe(0);
  });
});

test("new members of a team are chips, too", async () => {
  await users.ann.call("team_create", { group_id: "checkout", members: [] });
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go("/teams");
  await page.getByLabel("Add members", { exact: true }).focus();
  await page.keyboard.type(`new@example.com;${bob}`);
  await page.getByRole("list", { name: "Add members: chosen" }).getByText("No account?").waitFor();
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Add anyway" }).click();
  await page.getByText("Added 2 members.").waitFor();
  const { teams } = (await users.ann.call("team_list")).json();
  expect(teams[0]?.members).toEqual([ann, bob, "new@example.com"]);
  await users.ann.call("team_delete", { group_id: "checkout" });
});
