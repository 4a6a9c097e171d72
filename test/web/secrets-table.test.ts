import type { Page } from "playwright-core";
import { beforeEach, describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, bob } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

const LONG = "x".repeat(256);

/**
 * 60 own secrets, one of Bob's with the longest name there is, and one with as long a description.
 */
beforeEach(async () => {
  const names = Array.from(
    { length: 59 },
    (_, at) => `${at < 30 ? "prod" : "staging"}/checkout/service-${at + 10}`,
  );
  const requests = names.map((key_name, at) =>
    users.ann.call("protect", {
      key_name,
      key_value: `value of ${key_name}`,
      metadata: {
        environment_type: at < 30 ? "prod" : "staging",
        description: at === 0 ? LONG : "Orders and stock",
      },
    }),
  );
  await Promise.all([
    ...requests,
    users.ann.call("protect", { key_name: "plain", key_value: "v" }),
  ]);
  await users.bob.call("protect", {
    key_name: LONG,
    key_value: "v",
    metadata: { environment_type: LONG },
  });
  await users.bob.call("share", {
    key_name: LONG,
    permission: "RW",
    usr_id_from: bob,
    usr_id_to: ann,
  });
});

interface Layout {
  readonly columns: readonly number[];
  readonly rowHeights: readonly number[];
  readonly pageHeight: number;
}

function layoutOf(page: Page): Promise<Layout> {
  return page.evaluate(() => ({
    columns: [...document.querySelectorAll("thead th")].map(
      (cell) => cell.getBoundingClientRect().width,
    ),
    rowHeights: [
      ...new Set(
        [...document.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().height),
      ),
    ],
    pageHeight: document.documentElement.scrollHeight,
  }));
}

function scrollTop(page: Page): Promise<number> {
  return page.evaluate(() => scrollY);
}

describe("table of secrets", () => {
  test("has columns and rows of one size on every page and in every search, whatever the names", async () => {
    const { page, go } = await browser.visit(users.vault, {
      as: ann,
      viewport: { width: 1280, height: 800 },
    });
    await go("/secrets");
    await page.getByText("1 to 50 of 61").waitFor();
    const first = await layoutOf(page);
    expect(first.rowHeights).toEqual([44]);
    expect(first.pageHeight).toBeLessThan(2800);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51 to 61 of 61").waitFor();
    expect(await layoutOf(page)).toMatchObject({
      columns: first.columns,
      rowHeights: first.rowHeights,
    });
    await page.getByLabel("Search secrets").fill("xxx");
    await page.getByText("1 to 2 of 2").waitFor();
    expect(await layoutOf(page)).toMatchObject({
      columns: first.columns,
      rowHeights: first.rowHeights,
    });
    await page.getByRole("button", { name: `Reveal value of ${LONG}` }).click();
    await page.getByLabel("Value", { exact: true }).waitFor();
    expect((await layoutOf(page)).columns).toEqual(first.columns);
  });

  test("has two lines a secret on a phone", async () => {
    const { page, go } = await browser.visit(users.vault, {
      as: ann,
      viewport: { width: 360, height: 740 },
    });
    await go("/secrets");
    await page.getByText("1 to 50 of 61").waitFor();
    const { rowHeights, pageHeight } = await layoutOf(page);
    expect(Math.max(...rowHeights)).toBeLessThan(70);
    expect(pageHeight).toBeLessThan(4000);
  });

  test("has the end of a name in the first line on a phone, and its folder in the second", async () => {
    const viewport = { width: 320, height: 740 };
    const { page, go } = await browser.visit(users.vault, { as: ann, viewport });
    await go("/secrets?search=service-19");
    const link = page.getByRole("link", { name: "service-19" });
    await link.waitFor();
    const end = link.getByText("service-19");
    expect(await end.evaluate((text) => text.scrollWidth - text.clientWidth)).toBeLessThanOrEqual(
      0,
    );
    const folder = await page.locator("tbody").getByText("prod/checkout/").last().boundingBox();
    const { y = NaN, height = NaN } = (await end.boundingBox()) ?? {};
    expect(folder?.y).toBeGreaterThanOrEqual(y + height);
  });

  test("reveals and copies the current value, also one that is newer than the list", async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const { page, go } = await browser.visit(users.vault, { as: ann, permissions });
    await go("/secrets?search=plain");
    await page.getByRole("link", { name: "plain" }).waitFor();
    await users.ann.call("protect", { key_name: "plain", key_value: "changed meanwhile" });
    await page.getByRole("button", { name: "Copy value of plain" }).click();
    await expect
      .poll(() => page.evaluate(() => navigator.clipboard.readText()))
      .toBe("changed meanwhile");
    await page.getByRole("button", { name: "Reveal value of plain" }).click();
    await page.getByLabel("Value", { exact: true }).getByText("changed meanwhile").waitFor();
    await page.getByLabel("Select plain").check();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Hide value of plain" }).click();
    await page.getByText("changed meanwhile").waitFor({ state: "detached" });
  });
});

describe("view of the list", () => {
  test("is in the address: it survives a reload and can be sent", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByLabel("Search secrets").fill("orders");
    await page.getByLabel("Environment").selectOption("staging");
    await page.getByLabel("Sort by").selectOption("Sort by last update");
    await page.getByLabel("Mine").check({ force: true });
    await page.getByText("1 to 29 of 29").waitFor();
    const other = await browser.visit(users.vault, { as: ann });
    for (const visited of [page, other.page]) {
      if (visited === page) await page.reload();
      else await other.page.goto(page.url());
      await visited.getByText("1 to 29 of 29").waitFor();
      expect(await visited.getByLabel("Search secrets").inputValue()).toBe("orders");
      expect(await visited.getByLabel("Sort by").inputValue()).toBe("updated");
      expect(await visited.getByLabel("Mine").isChecked()).toBe(true);
    }
    await page.getByLabel("Environment").selectOption("All environments");
    await page.getByRole("navigation", { name: "Folders" }).getByRole("link").first().click();
    await page.getByText("1 to 29 of 29").waitFor();
    expect(await page.locator("tbody a").first().textContent()).toMatch(/^prod\/checkout\//u);
  });

  test("starts at the top of another page, and is back where it was after a visit to a secret", async () => {
    const { page, go } = await browser.visit(users.vault, {
      as: ann,
      viewport: { width: 1280, height: 600 },
    });
    await go("/secrets");
    await page.getByRole("link", { name: "service-50" }).click();
    await page.getByRole("heading", { level: 1, name: "service-50" }).waitFor();
    await expect.poll(() => scrollTop(page)).toBe(0);
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Secrets" }).waitFor();
    await expect.poll(() => scrollTop(page)).toBeGreaterThan(1000);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51 to 61 of 61").waitFor();
    await expect.poll(() => scrollTop(page)).toBeLessThan(300);
    await page.goBack();
    await page.getByText("1 to 50 of 61").waitFor();
    await expect.poll(() => scrollTop(page)).toBeGreaterThan(1000);
  });
});

describe("selected secrets", () => {
  test("are deleted after a question that lists them, and what fails is reported with its reason", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets?search=service-1");
    await page.getByText("1 to 10 of 10").waitFor();
    await page.getByLabel("Select all on this page").check();
    await page.getByText("10 selected").waitFor();
    await page.getByLabel("Select prod/checkout/service-19").uncheck();
    await users.ann.call("delete", { key_name: "prod/checkout/service-11" });
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Delete 9 secrets?" });
    await expect.poll(() => dialog.getByRole("listitem").count()).toBe(9);
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await dialog.getByText("8 of 9 deleted, 1 kept.").waitFor();
    const failed = dialog.getByRole("listitem").filter({ hasText: "service-11" });
    expect(await failed.textContent()).not.toContain("Deleted");
    await expect
      .poll(() => dialog.getByRole("listitem").filter({ hasText: "Deleted" }).count())
      .toBe(8);
    await dialog.getByRole("button", { name: "Close" }).click();
    await expect
      .poll(() => page.locator("tbody a").allTextContents())
      .toEqual(["prod/checkout/service-19"]);
  });

  test("are shared together, with what cannot be shared named", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets?search=plain");
    await page.getByLabel("Select plain").check();
    await page.getByLabel("Search secrets").fill("service-2");
    await page.getByLabel("Select prod/checkout/service-20").check();
    await page.getByLabel("Search secrets").fill("xxx");
    await page.getByLabel(`Select ${LONG}`).check();
    await page.getByText("3 selected").waitFor();
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share 2 secrets" });
    await dialog.getByText("1 selected secret has another owner").waitFor();
    await dialog.getByLabel("User or team", { exact: true }).fill("zoe@example.com");
    await dialog.getByRole("button", { name: "Share", exact: true }).click();
    const question = page.getByRole("dialog", { name: "Invite this user?" });
    await question.getByRole("listitem").getByText("zoe@example.com").waitFor();
    await question.getByRole("button", { name: "Cancel" }).click();
    await dialog.getByRole("button", { name: "Share", exact: true }).click();
    await question.getByRole("button", { name: "Invite and share" }).click();
    await page.getByText("Shared 2 secrets.").waitFor();
    const shares = async (name: string) =>
      (await users.ann.call("share_list", { key_name: name })).json().shares;
    for (const name of ["plain", "prod/checkout/service-20"])
      expect(await shares(name)).toMatchObject([
        { to: "zoe@example.com", permission: "R", state: "invited" },
      ]);
  });
});
