import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ann } from "./support/ann-and-bob.ts";
import { TestBrowser } from "./support/browser.ts";
import { allPages, allStates, openState, useFilledVault } from "./support/pages.ts";

const browser = new TestBrowser();
const vault = await useFilledVault();

/** Returns by how many pixels the page, or a dialog on it, is wider than the window. */
function excess(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    const dialogs = [...document.querySelectorAll("dialog")].map((dialog) => {
      const { left, right } = dialog.getBoundingClientRect();
      const beyond = Math.max(0, -left, right - innerWidth);
      return Math.max(beyond, dialog.scrollWidth - dialog.clientWidth);
    });
    return Math.max(scrollWidth - clientWidth, ...dialogs);
  });
}

/** Returns the placeholders that do not fit their fields. */
function cutPlaceholders(page: Page): Promise<string[]> {
  return page.locator("input[placeholder]:visible").evaluateAll((fields) =>
    fields.flatMap((field) => {
      if (!(field instanceof HTMLInputElement) || field.value !== "") return [];
      // A browser measures the text of a field, not its placeholder.
      field.value = field.placeholder;
      const isCut = field.scrollWidth > field.clientWidth;
      field.value = "";
      return isCut ? [field.placeholder] : [];
    }),
  );
}

/** Returns the markup of the focused element if nothing shows that it has the focus. */
function invisibleFocus(): string[] {
  const { activeElement: element } = document;
  if (!element || element === document.body) return [];
  // A control may leave it to what covers it.
  const shown = [element, element.nextElementSibling].flatMap((each) =>
    each ? [getComputedStyle(each), getComputedStyle(each, "::after")] : [],
  );
  const isShown = shown.some(
    ({ outlineStyle, outlineWidth }) => outlineStyle !== "none" && outlineWidth !== "0px",
  );
  return isShown ? [] : [element.outerHTML.slice(0, 120)];
}

describe.each([320, 360, 768, 1280, 1920])("window of %d pixels", (width) => {
  test("is at least as wide as every page, with whole placeholders", async () => {
    const loggedOut = await browser.visit(vault, { viewport: { width, height: 740 } });
    const loggedIn = await browser.visit(vault, { as: ann, viewport: { width, height: 740 } });
    for (const { route, shows, requiresLogin } of allPages) {
      const { page, go } = requiresLogin ? loggedIn : loggedOut;
      await go(route);
      await page.getByText(shows).first().waitFor();
      expect(await excess(page), route).toBe(0);
      expect(await cutPlaceholders(page), route).toEqual([]);
    }
  });

  test("is at least as wide as every dialog and form, with whole placeholders", async () => {
    const visitor = await browser.visit(vault, { as: ann, viewport: { width, height: 740 } });
    for (const state of allStates) {
      await openState(visitor, state);
      expect(await excess(visitor.page), state.name).toBe(0);
      expect(await cutPlaceholders(visitor.page), state.name).toEqual([]);
    }
  });

  test("shows who is logged in", async () => {
    const { page, go } = await browser.visit(vault, { as: ann, viewport: { width, height: 740 } });
    await go("/account");
    const address = page.getByRole("link", { name: `Account ${ann}` }).getByText(ann);
    await address.waitFor();
    expect(await address.evaluate((text) => text.scrollWidth - text.clientWidth)).toBe(0);
  });
});

test("every page of the dark theme is printed on white, without what can be clicked", async () => {
  const { page, go } = await browser.visit(vault, { as: ann, colorScheme: "dark" });
  for (const { route, shows } of allPages.filter((each) => each.requiresLogin)) {
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    await go(route);
    await page.getByText(shows).first().waitFor();
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    const style = await page.evaluate(() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      return { backgroundColor, color };
    });
    expect(style, route).toEqual({ backgroundColor: "rgb(255, 255, 255)", color: "rgb(0, 0, 0)" });
    const buttons = page.locator(
      ":is(button:not(.sort, .row-link), .button, input[type=file]):visible",
    );
    expect(await buttons.count(), route).toBe(0);
    // A pixel of rounding.
    expect(await excess(page), route).toBeLessThanOrEqual(1);
  }
});

describe("forced colors", () => {
  test("show the focus of everything that can have it, on every page", async () => {
    const { page, go } = await browser.visit(vault, { as: ann, forcedColors: "active" });
    for (const { route, shows } of allPages.filter((each) => each.requiresLogin)) {
      await go(route);
      await page.getByText(shows).first().waitFor();
      const stops = await page
        .locator("main :is(a, button, input, select, textarea):visible")
        .count();
      const unseen: string[] = [];
      for (let at = 0; at < stops + 12; at++) {
        await page.keyboard.press("Tab");
        unseen.push(...(await page.evaluate(invisibleFocus)));
      }
      expect(unseen, route).toEqual([]);
    }
  });

  test("show what a background shows otherwise", async () => {
    const { page, go } = await browser.visit(vault, { as: ann, forcedColors: "active" });
    await go("/secrets?compared=yes");
    await page.getByText("1 of them missing").waitFor();
    const borders = (selector: string): Promise<string[]> =>
      page
        .locator(selector)
        .evaluateAll((all) => all.map((one) => getComputedStyle(one).borderTopStyle));
    expect(await borders(".missing")).toEqual(["dashed"]);
    expect(await borders(".areas a[aria-current]")).toEqual(["solid"]);
    expect(await borders(".areas a:not([aria-current])")).not.toContain("solid");
    expect(await borders(".segments input:checked + span")).toEqual(["solid"]);
    await go("/secrets");
    await page.getByLabel("Select shop-db").check();
    const outline = page.locator("tr.selected");
    expect(await outline.evaluate((row) => getComputedStyle(row).outlineStyle)).toBe("solid");
    expect(new Set(await borders(".badge"))).toEqual(new Set(["solid"]));
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await page.getByRole("button", { name: "Reveal value of shop-db" }).click();
    const colorOf = (selector: string) =>
      page.locator(selector).evaluate((one) => getComputedStyle(one).backgroundColor);
    // The time left covers the border of the value, in the color of a highlight.
    expect(await colorOf(".time-left")).not.toBe(await colorOf("body"));
  });
});
