import { randomUUID } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { lstat, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { codeOf } from "../../../lib/errors.ts";
import { type Problem, problemAt } from "../manifests/manifest.ts";
import type { LocalTarget } from "./local-targets.ts";

/** Prefix of the files that are about to replace a file. */
const temporaryPrefix = (path: string): string => `.${basename(path)}.vaultsync-`;

/** Reports whether a path is of something else than a file, such as a device or a symbolic link. */
async function isNoFile(path: string): Promise<boolean> {
  try {
    return !(await lstat(path)).isFile();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** The new content of a file, next to it. Without `replace`, it is removed. */
interface StagedFile extends AsyncDisposable {
  replace(): Promise<void>;
}

/**
 * Writes the new content of a file, and can replace the file by it in one step. Only its user can
 * read it. @throws Error for a path that is of no regular file: root could replace a device, and what
 * a link refers to would keep its content
 */
export async function stagePrivateFile(path: string, bytes: Uint8Array): Promise<StagedFile> {
  if (await isNoFile(path))
    throw new Error(`${path} is not a regular file: name one, or - to print`);
  const temporary = join(dirname(path), `${temporaryPrefix(path)}${randomUUID()}`);
  const remove = (): Promise<void> => rm(temporary, { force: true });
  try {
    await writeFile(temporary, bytes, { mode: 0o600, flag: "wx" });
  } catch (error) {
    await remove();
    throw error;
  }
  return { replace: () => rename(temporary, path), [Symbol.asyncDispose]: remove };
}

/** Replaces a file in one step, or fails as `stagePrivateFile`. Only its user can read it. */
export async function writePrivateFile(path: string, bytes: Uint8Array): Promise<void> {
  await using staged = await stagePrivateFile(path, bytes);
  await staged.replace();
}

/** Removes what writes of a file left that were killed. No other process may write it. */
export function removeUnfinished(path: string): void {
  const directory = dirname(path);
  for (const name of readdirSync(directory))
    if (name.startsWith(temporaryPrefix(path))) rmSync(join(directory, name), { force: true });
}

/** Returns the problems of targets that would have one directory. */
export function directoryProblems(targets: readonly LocalTarget[]): Problem[] {
  const seen = new Map<string, LocalTarget>();
  return targets.flatMap((one) => {
    const { manifest, resource } = one;
    const { name } = resource.target;
    const first = seen.get(name)?.manifest;
    if (first === undefined) {
      seen.set(name, one);
      return [];
    }
    const place = `${first.file}:${first.lineOf("metadata", "name")}`;
    const message = `spec.target.name: the resource at ${place} has the directory ${name}: choose another name, or fewer files`;
    return [problemAt(manifest, ["spec", "target", "name"], message)];
  });
}

/**
 * Writes each key of each target to `<directory>/<name of the target>/<key>`, as volumes do. Other
 * files stay.
 */
export async function writeTargets(
  directory: string,
  targets: readonly LocalTarget[],
): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const { resource, content } of targets) {
    const path = join(directory, resource.target.name);
    await mkdir(path, { recursive: true, mode: 0o700 });
    for (const [key, bytes] of content) await writePrivateFile(join(path, key), bytes);
  }
}
