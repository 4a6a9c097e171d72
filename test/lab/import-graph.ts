import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** One import between two source files, as paths from the repository root. */
export interface Import {
  readonly from: string;
  readonly to: string;
}

const root = join(import.meta.dirname, "..", "..");

/** Returns the source files below `folder`, as paths from the repository root. */
export function sourceFiles(folder: string): string[] {
  return execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", folder], {
    cwd: root,
    encoding: "utf8",
  })
    .split("\n")
    .filter((path) => /\.tsx?$/.test(path))
    .filter((path) => readSource(path) !== undefined);
}

/** Returns the content of a file, or undefined when it is deleted in the working tree. */
export function readSource(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8");
  } catch {
    return undefined;
  }
}

/**
 * Returns all relative imports between `files`, type imports and imports on use included.
 * @param read returns the content of a file; by default from the working tree
 */
export function importsBetween(
  files: readonly string[],
  read: (path: string) => string | undefined = readSource,
): Import[] {
  const known = new Set(files);
  return files.flatMap((from) => {
    const specifiers = (read(from) ?? "").matchAll(
      /(?:^(?:(?:import|export)\b[^"';]*?from |import )|\bimport\()"(\.[^"]+)"/gm,
    );
    return [...specifiers]
      .map((match) => normalize(join(dirname(from), match[1] ?? "")))
      .filter((to) => known.has(to))
      .map((to) => ({ from, to }));
  });
}

/**
 * Returns the module of a file: its folder, or the file itself when the folder has sub-folders. The
 * files of such a folder are its entry points and its base definitions, above and below the
 * sub-folders, so they count one by one.
 */
export function moduleOf(path: string, folders: ReadonlySet<string>): string {
  const folder = dirname(path);
  const hasSubfolders = [...folders].some((other) => other.startsWith(`${folder}/`));
  return hasSubfolders ? path : folder;
}

/** Returns every group of modules that import each other, directly or through others. */
export function cycles(imports: readonly Import[]): string[][] {
  const next = Map.groupBy(imports, ({ from }) => from);
  const reachableFrom = (start: string): Set<string> => {
    const seen = new Set<string>();
    const open = [start];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      for (const { to } of next.get(node) ?? []) {
        if (seen.has(to)) continue;
        seen.add(to);
        open.push(to);
      }
    }
    return seen;
  };
  const reachable = new Map([...next.keys()].map((node) => [node, reachableFrom(node)]));
  const groups = new Map<string, string[]>();
  for (const [node, reached] of reachable) {
    if (!reached.has(node)) continue;
    const group = [...reached].filter((other) => reachable.get(other)?.has(node)).toSorted();
    groups.set(group.join(), group);
  }
  return [...groups.values()];
}
