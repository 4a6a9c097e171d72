import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { pathToFileURL } from "node:url";

const manifestPath = findPackageJSON(import.meta.url) ?? "package.json";

/** The directory of package.json, for the sources and for the build alike. */
export const packageRoot = new URL("./", pathToFileURL(manifestPath));

/** Returns the version in package.json. */
export function packageVersion(): string {
  const manifest: { readonly version: string } = JSON.parse(readFileSync(manifestPath, "utf8"));
  return manifest.version;
}
