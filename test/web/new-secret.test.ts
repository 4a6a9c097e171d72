import { describe, expect, test } from "vitest";
import { AnnAndBob, ann, bob, secretRoute } from "./support/ann-and-bob.ts";
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
    await page.getByText("Custom metadata and automatic deletion").click();
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
    expect((await users.ann.call("expose", { key_name: "shop/db #1" })).json().key_value).toBe(
      "line one\n  line two\n",
    );
  });

  test("rejects a name in use, also one that was not when the page was opened", async () => {
    await users.ann.call("protect", { key_name: "shop-db", key_value: "first" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    await page.getByLabel("Name").fill("shop-db");
    await page.getByLabel("Value").fill("second");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("alert").getByText("Nothing was stored.").waitFor();
    await page.getByRole("link", { name: "Open “shop-db”" }).waitFor();
    // Created after the page was opened.
    await users.ann.call("protect", { key_name: "new", key_value: "first" });
    await page.getByLabel("Name").fill("new");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("link", { name: "Open “new”" }).waitFor();
    for (const key_name of ["shop-db", "new"]) {
      const { key_version, key_value } = (await users.ann.call("expose", { key_name })).json();
      expect(key_version).toBe(1);
      expect(key_value).toBe("first");
    }
  });

  test("says what is wrong with a name at its field, and trims it", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    const name = page.getByLabel("Name");
    const create = page.getByRole("button", { name: "Create secret" });
    for (const [text, reason] of [
      ["x".repeat(300), "At most 256 characters."],
      [" ", "Enter a name."],
      ["a\u202Eb", "cannot be seen (U+202E)"],
    ] as const) {
      await name.fill(text);
      await create.click();
      await page.getByText(reason).waitFor();
      expect(await name.getAttribute("aria-invalid")).toBe("true");
    }
    await name.fill(" two  words ");
    await name.press("Control+Enter");
    await page.getByRole("heading", { level: 1, name: "two words" }).waitFor();
    expect(await page.locator("h1").textContent()).toBe("two  words");
    expect((await users.ann.call("list_no_dup")).json().secrets).toMatchObject([
      { key_name: "two  words" },
    ]);
  });

  test("creates a secret with the defaults that it shows, and conceals what is typed", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    expect(await page.getByLabel("Expires after (days)").inputValue()).toBe("10");
    expect(await page.getByLabel("Environment").inputValue()).toBe("dev");
    const value = page.getByLabel("Value", { exact: true });
    const security = () =>
      value.evaluate((area) => getComputedStyle(area).getPropertyValue("-webkit-text-security"));
    expect(await security()).toBe("disc");
    await page.getByRole("button", { name: "Show" }).click();
    expect(await security()).toBe("none");
    await value.fill("copied with its line end\n");
    await page.getByText("Ends with a newline.").waitFor();
    await page.getByRole("button", { name: "Generate" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("slider").fill("40");
    await dialog.getByLabel("Symbols").check();
    const generated = (await dialog.getByRole("status").textContent()) ?? "";
    await dialog.getByRole("button", { name: "Use this value" }).click();
    expect(await value.inputValue()).toBe(generated);
    await page.getByText("Ends with a newline.").waitFor({ state: "detached" });
    await page.getByLabel("Name").fill("generated");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("heading", { level: 1, name: "generated" }).waitFor();
    const { key_value: stored, metadata } = (
      await users.ann.call("expose", { key_name: "generated" })
    ).json();
    expect(stored).toMatch(/^[\w!#$%&*+\-=?@~]{40}$/u);
    expect(stored).toBe(generated);
    expect(metadata).toMatchObject({
      description: "n/a",
      environment_type: "dev",
      expiration_time: 10,
    });
  });

  test("takes and selects a value of 1 MiB, and refuses to paste more", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    const value = page.getByLabel("Value", { exact: true });
    const color = () => value.evaluate((area) => getComputedStyle(area).color);
    const paste = async (text: string) => {
      await page.evaluate((pasted) => navigator.clipboard.writeText(pasted), text);
      await value.press("Control+V");
    };
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await paste("é".repeat(2 ** 19 + 1));
    await page.getByText("The pasted text has 1.01 MiB; a value has at most 1 MiB.").waitFor();
    expect(await value.inputValue()).toBe("");
    const lines = "x".repeat(63) + "\n";
    await paste(lines.repeat(2 ** 14));
    expect((await value.inputValue()).length).toBe(2 ** 20);
    // Dots are slow for a long text: it is invisible instead.
    expect(await color()).toBe("rgba(0, 0, 0, 0)");
    await value.press("Control+A");
    await value.press("Delete");
    expect(await value.inputValue()).toBe("");
    await value.pressSequentially("short");
    expect(await color()).not.toBe("rgba(0, 0, 0, 0)");
    const more = page.getByRole("button", { name: "Custom metadata and automatic deletion" });
    expect(await more.getAttribute("aria-expanded")).toBe("false");
    await more.click();
    await page.getByLabel("Delete after").fill("3");
    await more.click();
    expect(await page.getByLabel("Delete after").isVisible()).toBe(false);
    await more.click();
    expect(await page.getByLabel("Delete after").inputValue()).toBe("3");
  });

  test("takes the bytes of a file as the value, and refuses one that is too large", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    const choose = (name: string, buffer: Buffer) =>
      page.locator('input[type="file"]').setInputFiles({ name, mimeType: "text/plain", buffer });
    await choose("large.txt", Buffer.alloc(2 ** 20 + 1, "x"));
    await page.getByText("large.txt has 1.01 MiB").waitFor();
    await choose("binary", Buffer.from([0, 0xff]));
    await page.getByText("not text: stored as Base64").waitFor();
    await page.getByRole("button", { name: "Remove file" }).click();
    await choose("windows.txt", Buffer.from("one\r\ntwo\r\n"));
    await page.getByText("text, stored byte for byte").waitFor();
    await page.getByLabel("Name").fill("from-file");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("heading", { level: 1, name: "from-file" }).waitFor();
    expect((await users.ann.call("expose", { key_name: "from-file" })).json().key_value).toBe(
      "one\r\ntwo\r\n",
    );
  });

  test("refuses metadata that would not become what the user means", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    await page.getByLabel("Name").fill("shop-db");
    await page.getByText("Custom metadata and automatic deletion").click();
    await page.getByRole("button", { name: "Add field" }).click();
    const create = page.getByRole("button", { name: "Create secret" });
    for (const [name, value, refusal] of [
      ["description", "x", "is the field “Description” above"],
      ["rotation", "{bad json", "is not valid JSON"],
    ] as const) {
      await page.locator('[name="custom-name"]').fill(name);
      await page.locator('[name="custom-value"]').fill(value);
      await create.click();
      await page.getByRole("alert").getByText(refusal).waitFor();
    }
    await page.getByRole("button", { name: "Remove this field" }).click();
    await page.getByLabel("Expires after (days)").fill("99999999999");
    await create.click();
    expect((await users.ann.call("list_no_dup")).json().secrets).toEqual([]);
    await page.getByLabel("Expires after (days)").fill("36500");
    await create.click();
    await page.getByRole("heading", { level: 1, name: "shop-db" }).waitFor();
  });
});

describe("form of a new secret", () => {
  test("starts at the name, and takes the environment that the name begins with", async () => {
    for (const environment_type of ["prod", "staging"])
      await users.ann.call("protect", {
        key_name: `${environment_type}/old`,
        key_value: "v",
        metadata: { environment_type, classification: "secret" },
      });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByRole("link", { name: "New secret" }).click();
    const name = page.getByLabel("Name", { exact: true });
    await expect.poll(() => name.evaluate((field) => field.matches(":focus"))).toBe(true);
    const environment = page.getByLabel("Environment");
    await page.keyboard.type("prod/shop");
    expect(await environment.inputValue()).toBe("prod");
    await name.fill("staging/shop");
    expect(await environment.inputValue()).toBe("staging");
    const suggested = (field: string) =>
      page
        .getByLabel(field)
        .evaluate((input) =>
          input instanceof HTMLInputElement
            ? [...(input.list?.options ?? [])].map(({ value }) => value)
            : [],
        );
    expect(await suggested("Environment")).toEqual(["prod", "staging"]);
    expect(await suggested("Classification")).toEqual(["secret"]);
    await environment.fill("dev");
    await name.fill("prod/shop");
    expect(await environment.inputValue()).toBe("dev");
  });

  test("is empty again for another secret after the first one is stored", async () => {
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/new-secret");
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("prod/first");
    await page.getByLabel("Environment").fill("prod");
    await page.getByLabel("Value", { exact: true }).fill("one");
    await page.getByRole("button", { name: "Create and add another" }).click();
    await page.getByRole("status").getByText("Created prod/first.").waitFor();
    await expect.poll(() => name.evaluate((field) => field.matches(":focus"))).toBe(true);
    expect(await name.inputValue()).toBe("prod/");
    expect(await page.getByLabel("Value", { exact: true }).inputValue()).toBe("");
    expect(await page.getByLabel("Environment").inputValue()).toBe("prod");
    await name.fill("prod/second");
    await page.getByLabel("Value", { exact: true }).fill("two");
    await page.getByRole("button", { name: "Create secret" }).click();
    await page.getByRole("heading", { level: 1, name: "prod/second" }).waitFor();
    const { secrets } = (await users.ann.call("list_no_dup")).json();
    expect(secrets).toMatchObject([{ key_name: "prod/first" }, { key_name: "prod/second" }]);
    expect(secrets[1].metadata.environment_type).toBe("prod");
  });
});

test("a copy of a secret has another name, its bytes and its metadata", async () => {
  const value = "one\r\ntwo \n";
  const metadata = {
    environment_type: "prod",
    expiration_time: 90,
    description: "orders\nof the shop",
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
