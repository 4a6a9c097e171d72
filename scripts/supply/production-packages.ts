import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

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
