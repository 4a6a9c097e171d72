import { execFileSync } from "node:child_process";

const MAX_BYTES = 1024 * 1024 * 1024;

/**
 * Returns the text of each tracked file of a revision by its path.
 *
 * @throws Error when git does not know the revision
 */
export function revisionFiles(revision: string): Map<string, string> {
  const listing = execFileSync("git", ["ls-tree", "-r", "-z", revision], {
    encoding: "utf8",
    maxBuffer: MAX_BYTES,
  });
  const entries = listing
    .split("\0")
    .filter((line) => line.includes(" blob "))
    .map((line) => {
      const [head = "", path = ""] = line.split("\t");
      return { path, object: head.split(" ")[2] ?? "" };
    });
  const bytes = execFileSync("git", ["cat-file", "--batch"], {
    input: entries.map(({ object }) => `${object}\n`).join(""),
    maxBuffer: MAX_BYTES,
  });
  const files = new Map<string, string>();
  let offset = 0;
  for (const { path } of entries) {
    const start = bytes.indexOf("\n", offset) + 1;
    const size = Number(bytes.toString("latin1", offset, start).trim().split(" ")[2]);
    files.set(path, bytes.toString("utf8", start, start + size));
    offset = start + size + 1;
  }
  return files;
}
