import { readFileSync } from "node:fs";
import { z } from "zod";

const manifest = z.object({ version: z.string() });

/** The version in package.json, which lies beside the sources and the build alike. */
export function packageVersion(): string {
  return manifest.parse(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))).version;
}
