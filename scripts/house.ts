/**
 * Prints what the repository consists of, for one or more revisions side by side: files, bytes,
 * small files, worlds of tests, scripts. Default: HEAD.
 */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { formatTable } from "../src/command-line/format.ts";
import { figures } from "./house/figures.ts";

const MAX_BYTES = 1024 * 1024 * 1024;

/**
 * Returns the text of each tracked file of a revision by its path.
 *
 * @throws Error when git does not know the revision
 */
function revisionFiles(revision: string): Map<string, string> {
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

const { positionals } = parseArgs({ allowPositionals: true });
const revisions = positionals.length > 0 ? positionals : ["HEAD"];
const columns = revisions.map((revision) => figures(revisionFiles(revision)));
const names = [...(columns[0]?.keys() ?? [])];
const rows = names.map((name) => [
  name,
  ...columns.map((column) => String(column.get(name) ?? "")),
]);
process.stdout.write(formatTable(["", ...revisions], rows));
