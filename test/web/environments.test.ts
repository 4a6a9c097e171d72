import { beforeEach, describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, bob } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import type { Page } from "playwright-core";

const browser = new TestBrowser();
const users = new AnnAndBob();

const secrets: readonly (readonly [name: string, environment: string])[] = [
  ["production/db", "prod"],
  ["production/mail/login", "prod"],
  ["production/search", "prod"],
  ["staging/db", "qa"],
  ["staging/mail/login", "qa"],
  ["docs/wiki", "dev"],
];

beforeEach(async () => {
  for (const [key_name, environment_type] of secrets)
    await users.ann.call("protect", { key_name, key_value: "v", metadata: { environment_type } });
  await users.ann.call("protect", { key_name: "production/db", key_value: "w" });
});

/** Returns the text of each cell of the matrix, row by row. */
function cells(page: Page): Promise<string[][]> {
  return page
    .getByRole("table", { name: "Names by environment" })
    .locator("tr")
    .evaluateAll((rows) =>
      rows.map((row) =>
        [...row.children].map((cell) =>
          cell instanceof HTMLElement ? cell.innerText.split(/\s+/u).join(" ").trim() : "",
        ),
      ),
    );
}

describe("comparison of environments", () => {
  test("shows each name with what an environment lacks, without another request", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    const link = page.getByRole("link", { name: "Compare environments" });
    await link.waitFor();
    const requests: string[] = [];
    page.on("request", (request) => requests.push(new URL(request.url()).pathname));
    await link.click();
    await page.getByRole("status").getByText("3 names, 1 of them missing").waitFor();
    expect(await cells(page)).toEqual([
      ["Name", "staging 1 missing", "production"],
      ["db", "staging/db v1 just now", "production/db v2 just now"],
      ["mail/login", "staging/mail/login v1 just now", "production/mail/login v1 just now"],
      ["search", "Missing staging/search", "production/search v1 just now"],
    ]);
    expect(requests.filter((path) => !path.startsWith("/assets/"))).toEqual([]);
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test("starts what is missing with its name, environment and value to type, by keyboard", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets?compared=yes");
    await page.getByRole("link", { name: "Missing staging/search" }).press("Enter");
    await expect
      .poll(() => page.getByLabel("Name", { exact: true }).inputValue())
      .toBe("staging/search");
    expect(await page.getByLabel("Environment").inputValue()).toBe("qa");
    await page.keyboard.type("typed value");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("heading", { name: "staging/search" }).waitFor();
    await page.getByRole("link", { name: "All secrets" }).press("Enter");
    await page.getByRole("status").getByText("3 names, 0 of them missing").waitFor();
  });

  test("finds no name missing because of a filter, and can show the missing ones alone", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets?compared=yes&environment=prod");
    await page.getByRole("status").getByText("3 names, 1 of them missing").waitFor();
    await page.getByLabel("Only missing ones").check();
    await expect
      .poll(async () => (await cells(page)).map(([name]) => name))
      .toEqual(["Name", "search"]);
    await page.reload();
    await expect
      .poll(async () => (await cells(page)).map(([name]) => name))
      .toEqual(["Name", "search"]);
    await page.getByLabel("Only missing ones").uncheck();
    await page.getByLabel("Search secrets").fill("mail");
    await expect
      .poll(async () => (await cells(page)).map(([name]) => name))
      .toEqual(["Name", "mail/login"]);
    await page.getByLabel("Search secrets").fill("wiki");
    await page.getByText("No matches").waitFor();
    await page.getByRole("link", { name: "Show as a list" }).click();
    await page.getByRole("link", { name: "Compare environments" }).waitFor();
  });

  test("names the owner of what another user has shared", async () => {
    const name = "staging/search";
    await users.bob.call("protect", { key_name: name, key_value: "v" });
    await users.bob.call("share", {
      key_name: name,
      permission: "R",
      usr_id_from: bob,
      usr_id_to: ann,
    });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets?compared=yes");
    await page.getByRole("status").getByText("3 names, 0 of them missing").waitFor();
    await page.getByRole("link", { name: `staging/search v1 just now ${bob}` }).click();
    await page.getByRole("heading", { name: "staging/search" }).waitFor();
  });

  test("shows a thousand names by fifty", async () => {
    const names = Array.from({ length: 120 }, (_, at) => `staging/many/${at + 100}`);
    await Promise.all(
      names.map((key_name) => users.ann.call("protect", { key_name, key_value: "v" })),
    );
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets?compared=yes&search=many");
    await page.getByText("1 to 50 of 120").waitFor();
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText("51 to 100 of 120").waitFor();
    expect(await cells(page)).toHaveLength(51);
    await page.goBack();
    await page.getByText("1 to 50 of 120").waitFor();
  });

  test("scrolls next to the names in a narrow window", async () => {
    const { page, go } = await browser.visit(users.vault, {
      as: ann,
      viewport: { width: 320, height: 740 },
    });
    await go("/secrets?compared=yes");
    const last = page.getByRole("link", { name: "production/search" });
    await last.focus();
    const box = await last.boundingBox();
    const name = await page.getByRole("rowheader", { name: "search" }).boundingBox();
    expect(name?.x).toBeLessThan(40);
    expect(box && box.x + box.width).toBeLessThanOrEqual(320);
  });

  test("is not offered where there is one environment at most", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets?folder=production&compared=yes");
    await page.getByRole("status").getByText("3 secrets").waitFor();
    expect(await page.getByRole("link", { name: "Compare environments" }).count()).toBe(0);
  });
});
