import { lstat, readdir } from "node:fs/promises";
import { join, relative } from "node:path";

/** Returns the size and the time of the last change of each file of an image, by path. */
export async function imageFiles(root: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return new Map(
    await Promise.all(
      files.map(async (entry): Promise<[string, string]> => {
        const path = join(entry.parentPath, entry.name);
        const { size, ctimeMs } = await lstat(path);
        return [relative(root, path), `${size} ${ctimeMs}`];
      }),
    ),
  );
}
