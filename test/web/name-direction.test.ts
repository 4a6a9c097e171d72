import { describe, expect, test } from "vitest";
import { AnnAndBob, ann, secretRoute } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";

const browser = new TestBrowser();
const users = new AnnAndBob();

describe("name of a secret", () => {
  test.each([
    ["תיקייה/סיסמה", "right to left"],
    ["folder/name", "left to right"],
  ])("%s reads %s in the list", async (name, direction) => {
    await users.ann.call("protect", { key_name: name, key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go("/secrets");
    await page.getByRole("row", { name: "Select" }).first().waitFor();
    const left = (part: string) =>
      page.locator(`tbody .${part}`).evaluate((element) => element.getBoundingClientRect().left);
    const [folder, leaf] = [await left("folder"), await left("leaf")];
    expect(folder > leaf ? "right to left" : "left to right").toBe(direction);
  });

  test("is written without direction marks into the title of the window", async () => {
    const name = "a\u202Ecod.exe";
    await users.ann.call("protect", { key_name: name, key_value: "v" });
    const { page, go } = await browser.visit(users.vault, { as: ann });
    await go(secretRoute(ann, name));
    await page.getByRole("button", { name: "Reveal value" }).waitFor();
    expect(await page.title()).toBe("aU+202Ecod.exe · Vaultsync");
  });
});
