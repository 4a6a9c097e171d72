import chromium from "@sparticuz/chromium";
import { buildWeb } from "../../../scripts/build-web.ts";

/**
 * Builds the web application and unpacks the browser once, before the tests of the project `web`.
 */
export async function setup(): Promise<void> {
  await buildWeb();
  // Test files that start simultaneously would otherwise overwrite each other's copy.
  await chromium.executablePath();
}
