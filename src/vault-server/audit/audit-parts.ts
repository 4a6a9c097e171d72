import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** The full files that were put aside of a log, the oldest first: `<file>.<number of its first line>`. */
export async function partsBeside(file: string): Promise<string[]> {
  const prefix = `${basename(file)}.`;
  const names = await readdir(dirname(file));
  return names
    .filter((name) => name.startsWith(prefix) && /^[0-9]{1,15}$/u.test(name.slice(prefix.length)))
    .sort((a, b) => Number(a.slice(prefix.length)) - Number(b.slice(prefix.length)))
    .map((name) => join(dirname(file), name));
}
