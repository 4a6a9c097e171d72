import type { Page } from "playwright-core";

/** Adds a version on the page of a secret with one version and waits until it is shown. */
export async function addSecondVersion(page: Page, value: string): Promise<void> {
  await page.getByRole("button", { name: "New version" }).click();
  await page.getByLabel("New value").fill(value);
  await page.getByRole("button", { name: "Add version" }).click();
  await page.getByRole("heading", { name: "Version 2" }).waitFor();
}
