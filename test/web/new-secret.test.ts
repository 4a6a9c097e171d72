import { describe, expect, test } from "vitest";
import { AnnAndBob, ann } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

describe("new secret page", () => {
  test("creates a secret with metadata, custom metadata and a deletion deadline", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByText("No secrets yet").waitFor();
    await go("/new-secret");
    await page.getByLabel("Name").fill("shop/db #1");
    await page.getByLabel("Value").fill("line one\n  line two\n");
    await page.getByText("Metadata and lifetime").click();
    await page.getByLabel("Description").fill("orders");
    await page.getByLabel("Environment").fill("prod");
    await page.getByLabel("Expires after (days)").fill("30");
    await page.getByRole("button", { name: "Add field" }).click();
    await page.locator('[name="custom-name"]').fill("rotation");
    await page.locator('[name="custom-value"]').fill('{"days": 30}');
    await page.getByLabel("Delete after").fill("2");
    await page.getByLabel("Unit").selectOption("hours");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("heading", { level: 1, name: "shop/db #1" }).waitFor();
    const [record] = (await users.ann.call("list_no_dup")).json().secrets;
    expect(record).toMatchObject({
      delete_time: 120,
      metadata: { description: "orders", environment_type: "prod", cloud_type: "aws" },
    });
    expect(record.metadata).toMatchObject({ expiration_time: 30, rotation: { days: 30 } });
    expect((await users.ann.call("expose", { key_name: "shop/db #1" })).json().key_value).toBe("line one\n  line two\n");
  });

  test("rejects a name in use before it sends the value", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "first" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    await page.getByLabel("Name").fill("shop-db");
    await page.getByLabel("Value").fill("second");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("alert").getByText("already").waitFor();
    expect((await users.ann.call("expose", { key_name: "shop-db" })).json()).toMatchObject({
      key_version: 1,
      key_value: "first",
    });
  });

  test("shows a validation error of the vault at its field", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    await page.getByLabel("Name").fill("x".repeat(300));
    await page.getByRole("button", { name: "Create secret" }).click();
    await expect.poll(() => page.getByLabel("Name").getAttribute("aria-invalid")).toBe("true");
    await page.getByText("at most 256 characters").waitFor();
  });
});
