import { beforeEach, describe, expect, test } from "vitest";
import { accessibilityViolations } from "./support/accessibility.ts";
import { AnnAndBob, ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

const secrets: readonly (readonly [name: string, environment: string, days: number])[] = [
  ["plain", "dev", 0],
  ["prod/checkout/db", "prod", 5],
  ["prod/checkout/eu/key", "prod", 90],
  ["prod/mail", "prod", 30],
  ["staging/mail", "staging", 13],
];

beforeEach(async () => {
  for (const [key_name, environment_type, expiration_time] of secrets)
    await users.ann.call("protect", {
      key_name,
      key_value: "v",
      metadata: { environment_type, expiration_time },
    });
});

describe("folders of the list", () => {
  test("are places with a count, left through the breadcrumb, where new secrets start", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    const folders = page.getByRole("navigation", { name: "Folders" });
    await expect
      .poll(() => folders.getByRole("link").allTextContents())
      .toEqual(["prod3", "staging1", "Compare environments"]);
    await folders.getByRole("link", { name: "prod" }).click();
    await expect.poll(() => folders.getByRole("link").allTextContents()).toEqual(["checkout2"]);
    await folders.getByRole("link", { name: "checkout" }).click();
    await page.getByRole("status").getByText("2 secrets").waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    const place = page.getByRole("navigation", { name: "Place" });
    expect(await place.getByRole("listitem").allTextContents()).toEqual([
      "All secrets",
      "prod",
      "checkout",
    ]);
    await page.getByLabel("Environment").selectOption("prod");
    await page.getByRole("link", { name: "New secret" }).click();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("prod/checkout/");
    expect(await page.getByLabel("Environment").inputValue()).toBe("prod");
    await page.getByRole("button", { name: "Cancel" }).click();
    await place.getByRole("link", { name: "prod" }).click();
    await page.getByRole("status").getByText("3 secrets").waitFor();
    await place.getByRole("link", { name: "All secrets" }).click();
    await page.getByRole("status").getByText("5 secrets").waitFor();
    expect(await place.count()).toBe(0);
  });

  test("are linked from the page of a secret", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, "prod/checkout/db"));
    const place = page.getByRole("navigation", { name: "Place" });
    await place.getByRole("link", { name: "checkout" }).click();
    await page.getByRole("status").getByText("2 secrets").waitFor();
  });
});

describe("columns of the list", () => {
  test("sort in both directions", async () => {
    const { page, go } = await browser.visit(users.vault, {
      as: ann,
      viewport: { width: 1600, height: 900 },
    });
    await go("/secrets");
    const names = () => page.locator("tbody a").allTextContents();
    const all = secrets.map(([name]) => name);
    await expect.poll(names).toEqual(all);
    const column = (name: string) => page.getByRole("columnheader", { name });
    expect(await column("Name").getAttribute("aria-sort")).toBe("ascending");
    await column("Name").getByRole("button").click();
    await expect.poll(names).toEqual(all.toReversed());
    expect(await column("Name").getAttribute("aria-sort")).toBe("descending");
    await column("Expires").getByRole("button").click();
    const byExpiry = ["plain", "prod/checkout/db", "staging/mail", "prod/mail"];
    await expect.poll(names).toEqual([...byExpiry, "prod/checkout/eu/key"]);
    expect(await column("Name").getAttribute("aria-sort")).toBe(null);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.reload();
    await column("Expires").getByRole("button").click();
    await expect.poll(names).toEqual(["prod/checkout/eu/key", ...byExpiry.toReversed()]);
  });
});

describe("filter of the list", () => {
  test("shows what has expired, and what expires in 14 days", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    const names = () => page.locator("tbody a").allTextContents();
    await page.getByRole("search").getByLabel("Expiry").selectOption("Expired");
    await expect.poll(names).toEqual(["plain"]);
    await page.getByRole("search").getByLabel("Expiry").selectOption("Expires in 14 days");
    await expect.poll(names).toEqual(["prod/checkout/db", "staging/mail"]);
    await page.getByRole("search").getByLabel("Expiry").selectOption("Any expiry");
    await expect.poll(names).toHaveLength(5);
  });
});

test("all matches on all pages are selected with two clicks", async () => {
  const added = Array.from({ length: 60 }, (_, at) => `many/${at + 10}`);
  await Promise.all(
    added.map((key_name) => users.ann.call("protect", { key_name, key_value: "v" })),
  );
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go("/secrets?search=many");
  await page.getByText("1 to 50 of 60").waitFor();
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("status").getByText("50 selected").waitFor();
  await page.getByRole("button", { name: "Select all 60" }).click();
  await page.getByRole("status").getByText("60 selected").waitFor();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted 60 secrets.").waitFor();
});
