import axe from "axe-core";
import type { Page } from "playwright-core";

/** WCAG 2.2 at levels A and AA, axe's best practices, and unique ids. */
const options: axe.RunOptions = {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  rules: { "duplicate-id": { enabled: true } },
};

function rulesFor(seesColors: boolean): axe.RunOptions {
  const { rules } = options;
  return { ...options, rules: { ...rules, "color-contrast": { enabled: seesColors } } };
}

/**
 * Runs axe on the page. Returns each violated or undecided rule with the elements that cause it.
 * `seesColors` is false where axe cannot, as with the user's own forced colors.
 */
export async function accessibilityViolations(page: Page, seesColors = true): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const { violations, incomplete } = await page.evaluate<axe.AxeResults>(
    `axe.run(${JSON.stringify(rulesFor(seesColors))})`,
  );
  return [...violations, ...incomplete].map(
    ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(" ")}`,
  );
}
