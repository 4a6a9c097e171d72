import { readFile } from "node:fs/promises";

/** Returns the lines of an audit log. */
// oxlint-disable-next-line typescript/no-explicit-any -- assertions look into it
export async function auditEntries(file: string): Promise<any[]> {
  const text = await readFile(file, "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}
