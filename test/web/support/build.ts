import { buildWeb } from "../../../scripts/build-web.ts";

/** Builds the web application once, before the tests of the project `web`. */
export async function setup(): Promise<void> {
  await buildWeb();
}
