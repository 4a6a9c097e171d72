import { readFileSync } from "node:fs";

/**
 * Returns the version in package.json, which has the same relative path from the sources and from
 * the build.
 */
export function packageVersion(): string {
  const manifest: { readonly version: string } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  return manifest.version;
}
