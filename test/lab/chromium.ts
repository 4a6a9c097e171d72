import chromium from "@sparticuz/chromium";
import { chromium as playwright, type Browser } from "playwright-core";

/** Starts the Chromium of the lock file, without a window. */
export async function launchChromium(): Promise<Browser> {
  return playwright.launch({
    args: ["--no-sandbox"],
    executablePath: await chromium.executablePath(),
  });
}
