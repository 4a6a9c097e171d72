import { readFileSync } from "node:fs";

/**
 * Returns the version in package.json. Sources and build have the same relative path to that file.
 */
export function packageVersion(): string {
  const manifest: { readonly version: string } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  );
  return manifest.version;
}
