import { access, constants } from "node:fs/promises";
import { join } from "node:path";

/** Returns the `names` that are not executable files in `directory`. */
export async function missingFiles(directory: string, names: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const name of names) {
    try {
      await access(join(directory, name), constants.X_OK);
    } catch {
      missing.push(name);
    }
  }
  return missing;
}
