import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Bom, Component } from "./sbom.ts";
import { bundled } from "./production-packages.ts";

const Manifest = z.object({ name: z.string(), version: z.string() });

/** Returns the packages that are installed in an application's folder, as `name@version`. */
function installedPackages(directory: string): Set<string> {
  const found = new Set<string>();
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
      const path = join(folder, entry.name);
      if (entry.name.startsWith("@")) visit(path);
      else add(path);
    }
  };
  const add = (path: string): void => {
    const { name, version } = Manifest.parse(
      JSON.parse(readFileSync(join(path, "package.json"), "utf8")),
    );
    found.add(`${name}@${version}`);
    if (readdirSync(path).includes("node_modules")) visit(join(path, "node_modules"));
  };
  visit(join(directory, "node_modules"));
  return found;
}

/** Reports whether a component is a package in a separate folder. */
function isPackage({ name, purl }: Component): boolean {
  return purl.startsWith("pkg:npm/") && !bundled.includes(name);
}

/**
 * Returns the differences between a bill of materials and the packages that an application's folder
 * holds, one line each.
 */
export function sbomDifferences(bom: Bom, directory: string): string[] {
  const installed = installedPackages(directory);
  const listed = new Set(
    bom.components.filter(isPackage).map(({ name, version }) => `${name}@${version}`),
  );
  return [
    ...[...installed]
      .filter((one) => !listed.has(one))
      .map((one) => `${one} is installed, and not in the bill of materials`),
    ...[...listed]
      .filter((one) => !installed.has(one))
      .map((one) => `${one} is in the bill of materials, and not installed`),
  ].toSorted();
}
