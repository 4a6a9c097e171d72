import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { components } from "./version.ts";

/** Returns the components that are not executable files in `directory`; empty if it is complete. */
export async function missingComponents(directory: string): Promise<string[]> {
  const missing: string[] = [];
  for (const name of components) {
    try {
      await access(join(directory, name), constants.X_OK);
    } catch {
      missing.push(name);
    }
  }
  return missing;
}
