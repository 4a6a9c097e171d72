import { expect, test } from "vitest";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

test("a copy of a secret has another name, its bytes and its metadata", async () => {
  const value = "one\r\ntwo \n";
  const metadata = {
    environment_type: "prod",
    expiration_time: 90,
    description: "orders",
    rotation: { days: 30 },
    digits: "3",
  };
  await users.bob.call("protect", { key_name: "prod/db", key_value: value, metadata });
  const share = { key_name: "prod/db", permission: "R", usr_id_from: bob, usr_id_to: ann };
  await users.bob.call("share", share);
  const { page, go } = await browser.visit(users.vault, { as: ann });
  await go(secretRoute(bob, "prod/db"));
  await page.getByRole("button", { name: "Duplicate" }).click();
  const name = page.getByLabel("Name", { exact: true }).first();
  await expect.poll(() => name.inputValue()).toBe("prod/db-copy");
  expect(await page.content()).not.toContain("one\r\n");
  await page.getByRole("button", { name: "Create secret" }).click();
  await page.getByRole("heading", { level: 1, name: "prod/db-copy" }).waitFor();
  const copy = (await users.ann.call("expose", { key_name: "prod/db-copy" })).json();
  expect(copy).toMatchObject({ key_value: value, metadata, owner: ann });
  await go("/new-secret");
  await page.getByRole("heading", { level: 1, name: "New secret" }).waitFor();
  await expect.poll(() => name.inputValue()).toBe("");
});
