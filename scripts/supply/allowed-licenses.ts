import type { ProductionPackage } from "./production-packages.ts";

/**
 * Licenses that permit to distribute a package as a part of the image, with its notice and nothing
 * more.
 */
const allowed = new Set([
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "MIT-0",
  "PSF-2.0",
  "Unlicense",
]);

/**
 * Returns the packages with another license. A choice of licenses needs a decision: expressions are
 * not allowed either.
 */
export function packagesNotAllowed(packages: readonly ProductionPackage[]): ProductionPackage[] {
  return packages.filter(({ license }) => !allowed.has(license));
}
