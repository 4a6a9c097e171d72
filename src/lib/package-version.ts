import { readFileSync } from "node:fs";
import { z } from "zod";

const manifest = z.object({ version: z.string() });

/**
 * Returns the version in package.json, which has the same relative path from the sources and from
 * the build.
 */
export function packageVersion(): string {
  return manifest.parse(
    JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")),
  ).version;
}
