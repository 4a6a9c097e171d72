import type { Page } from "playwright-core";

/** Returns the name of the focused element as the page shows it. */
function focusedName(page: Page): Promise<string | undefined> {
  return page.evaluate(() => {
    const { activeElement: element } = document;
    const isField =
      element instanceof HTMLInputElement ||
      element instanceof HTMLTextAreaElement ||
      element instanceof HTMLSelectElement;
    const label = isField ? element.labels?.[0]?.textContent : undefined;
    return (element?.getAttribute("aria-label") ?? label ?? element?.textContent)?.trim();
  });
}

/** Presses Tab until the element of this name has the focus. */
export async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if ((await focusedName(page)) === name) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`60 tab stops do not reach ${name}`);
}

/**
 * A user without a mouse. `clicks` counts what a mouse would have to click for the same: buttons,
 * links and fields without the focus. Keys that type or submit are not counted.
 */
export class KeyboardUser {
  clicks = 0;
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Follows a link or presses a button. */
  async press(name: string): Promise<void> {
    await this.#find(name);
    this.clicks += 1;
    await this.#page.keyboard.press("Enter");
  }

  /** Replaces the text of a field. */
  async type(name: string, text: string): Promise<void> {
    await this.#find(name);
    await this.#page.keyboard.press("Control+A");
    await this.#page.keyboard.type(text);
  }

  /** Goes to an element; a field that has the focus needs no click. */
  async #find(name: string): Promise<void> {
    if ((await focusedName(this.#page)) === name) return;
    await tabTo(this.#page, name);
    const isField = await this.#page.evaluate(
      () => document.activeElement?.matches("input, textarea, select") === true,
    );
    if (isField) this.clicks += 1;
  }
}
