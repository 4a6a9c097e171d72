import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestVault } from "../support/vault/test-vault.ts";
import { TestBrowser } from "./support/browser.ts";
import { allPages, ann, fillPages, signedInPages } from "./support/pages.ts";

const browser = new TestBrowser();

let vault: TestVault;
beforeAll(async () => {
  vault = await TestVault.start();
  await fillPages(vault);
});
afterAll(() => vault[Symbol.asyncDispose]());

describe.each([320, 360, 800, 1280])("in a window of %d pixels", (width) => {
  test("no page is wider than the window", async () => {
    const out = await browser.visit(vault, { viewport: { width, height: 740 } });
    const within = await browser.visit(vault, { as: ann, viewport: { width, height: 740 } });
    for (const { route, shows, loggedIn } of allPages) {
      const { page, go } = loggedIn ? within : out;
      await go(route);
      await page.getByText(shows).first().waitFor();
      const excess = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(excess, route).toBe(0);
    }
  });
});

/** Relative luminance and contrast as WCAG 2.2 defines them, over all visible text of the page; the worst ratios first. */
async function contrasts(page: Page): Promise<{ ratio: number; text: string }[]> {
  return page.evaluate(() => {
    type Colour = [number, number, number, number];
    // oxlint-disable-next-line unicorn/consistent-function-scoping -- all of this runs in the page
    const parse = (text: string): Colour => {
      const [r = 0, g = 0, b = 0, a = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
      return [r, g, b, a];
    };
    const over = ([r, g, b, a]: Colour, [R, G, B]: Colour): Colour => [
      r * a + R * (1 - a),
      g * a + G * (1 - a),
      b * a + B * (1 - a),
      1,
    ];
    const background = (element: Element | null): Colour => {
      if (!element) return [255, 255, 255, 1];
      const colour = parse(getComputedStyle(element).backgroundColor);
      return colour[3] === 1 ? colour : over(colour, background(element.parentElement));
    };
    const luminance = (colour: Colour): number => {
      const [r = 0, g = 0, b = 0] = colour.slice(0, 3).map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const found: { ratio: number; text: string }[] = [];
    for (const element of document.querySelectorAll("body *")) {
      const own = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== "");
      if (!own || element.closest("script, datalist, option") || element.getClientRects().length === 0) continue;
      const back = background(element);
      const [light, dark] = [luminance(over(parse(getComputedStyle(element).color), back)), luminance(back)].sort(
        (a, b) => b - a,
      );
      found.push({ ratio: ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05), text: element.textContent.slice(0, 40) });
    }
    return found.sort((a, b) => a.ratio - b.ratio);
  });
}

describe.each(["light", "dark"] as const)("with %s colours", (colorScheme) => {
  test("all text of all pages stands out by 4.5 to 1 at least", async () => {
    const { page, go } = await browser.visit(vault, { as: ann, colorScheme });
    for (const { route, shows } of signedInPages) {
      await go(route);
      await page.getByText(shows).first().waitFor();
      const [worst] = await contrasts(page);
      expect(worst?.ratio, `${route}: ${worst?.text}`).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("the ground is as asked for", async () => {
    const { page, go } = await browser.visit(vault, { colorScheme });
    await go("/login");
    const [red = 0] = (await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).match(/\d+/g) ?? [];
    expect(Number(red) > 128).toBe(colorScheme === "light");
  });
});
