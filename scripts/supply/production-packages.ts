import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Bom, Component } from "./sbom.ts";

const LockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string(),
      license: z.string().optional(),
      integrity: z.string().optional(),
      dependencies: z.record(z.string(), z.string()).default({}),
      dev: z.boolean().default(false),
      optional: z.boolean().default(false),
    }),
  ),
});

/** A package of the image, or one whose code the web application contains. */
export interface ProductionPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression of the lock file, empty without one. */
  readonly license: string;
  /** Path from the repository root. */
  readonly path: string;
  /** The checksum of the lock file, such as `sha512-…` in base64. */
  readonly integrity: string;
  /** The packages that it loads, as `name@version`. */
  readonly dependencies: readonly string[];
}

/**
 * The packages that Vite bundles into the web application. They are development dependencies,
 * because nothing loads them later.
 */
export const bundled = ["preact"];

type Locked = z.output<typeof LockFile>["packages"];

const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/**
 * Returns where Node finds a package: in the folder of the one that loads it, or of one that
 * contains it.
 */
function resolve(packages: Locked, from: string, name: string): string | undefined {
  for (
    let folder = from;
    ;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))
  ) {
    const path = `${folder}${folder && "/"}node_modules/${name}`;
    if (path in packages) return path;
    if (folder === "") return undefined;
  }
}

function dependenciesOf(packages: Locked, path: string): string[] {
  const names = Object.keys(packages[path]?.dependencies ?? {});
  const paths = names
    .map((name) => resolve(packages, path, name))
    .filter((one) => one !== undefined);
  return paths.map((each) => `${nameOf(each)}@${packages[each]?.version}`).toSorted();
}

/**
 * Returns the packages that a user of the image runs, each version once, sorted by name and
 * version.
 */
export function productionPackages(root: string): ProductionPackage[] {
  const { packages } = LockFile.parse(
    JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")),
  );
  const found = new Map<string, ProductionPackage>();
  for (const [path, { version, license = "", integrity = "", dev, optional }] of Object.entries(
    packages,
  )) {
    const name = nameOf(path);
    if (path === "" || ((dev || optional) && !bundled.includes(path.replace("node_modules/", ""))))
      continue;
    const dependencies = dependenciesOf(packages, path);
    found.set(`${name}@${version}`, { name, version, license, path, integrity, dependencies });
  }
  return [...found.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

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
