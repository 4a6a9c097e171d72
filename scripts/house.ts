/**
 * Prints what the repository consists of, for one or more revisions side by side: files, bytes,
 * small files, worlds of tests, scripts. Default: HEAD.
 */
import { parseArgs } from "node:util";
import { formatTable } from "../src/command-line/table.ts";
import { figures } from "./house/figures.ts";
import { revisionFiles } from "./house/revision-files.ts";

const { positionals } = parseArgs({ allowPositionals: true });
const revisions = positionals.length > 0 ? positionals : ["HEAD"];
const columns = revisions.map((revision) => figures(revisionFiles(revision)));
const names = [...(columns[0]?.keys() ?? [])];
const rows = names.map((name) => [
  name,
  ...columns.map((column) => String(column.get(name) ?? "")),
]);
process.stdout.write(formatTable(["", ...revisions], rows));
