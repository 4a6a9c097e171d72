/**
 * Prints what the repository consists of, for one or more revisions side by side: files, bytes,
 * small files, worlds of tests, scripts. Default: HEAD.
 */
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { formatTable } from "../src/command-line/format.ts";
import { importsBetween } from "../test/lab/import-graph.ts";
import { usesIn } from "./prose/constructions.ts";
import { proseIn } from "./prose/prose-in.ts";

/** The tracked files of one state of the repository: their text by path. */
type Files = ReadonlyMap<string, string>;

const isCode = (path: string): boolean => /\.tsx?$/.test(path);
const isTest = (path: string): boolean => path.endsWith(".test.ts");
const isSource = (path: string): boolean =>
  path.startsWith("src/") && /\.(?:tsx?|css|html)$/.test(path) && !isTest(path);
const isSupport = (path: string): boolean =>
  path.startsWith("test/") && isCode(path) && !isTest(path);
const isDocs = (path: string): boolean => /^(?:docs\/.*|(?:\.github\/)?[^/]+)\.md$/.test(path);
const isManifest = (path: string): boolean => /^(?:deploy|crds|examples)\//.test(path);

/** Names of classes and functions that make a world for tests. */
const WORLD =
  /\b(?:class|interface|function)\s+(\w*(?:Scene|World|Stage|Farm|Lane|Fixture))\b(?=[^;]*[{(])/g;
/** Files that stand for a vault in tests. */
const VAULT_DOUBLE =
  /(?:^|\/)(?:in-memory-vault|simulated-vaults?|listed-vault|scripted-(?:vault|server)|in-memory-connection|stub-vault(?:\/main)?)\.ts$/;

function count(files: Files, matches: (path: string) => boolean): number {
  return [...files.keys()].filter(matches).length;
}

/** Returns the size of the matching files in kB, of 1000 bytes. */
function kilobytes(files: Files, matches: (path: string) => boolean): number {
  const matching = [...files].filter(([path]) => matches(path));
  const bytes = matching.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0);
  return Math.round(bytes / 1000);
}

/** Returns the number of files of at most 40 lines that one other source file imports. */
function smallWithOneImporter(files: Files): number {
  const sources = [...files.keys()].filter((path) => isSource(path) && isCode(path));
  const imports = importsBetween(sources, (path) => files.get(path));
  const importers = Map.groupBy(imports, ({ to }) => to);
  const isSmall = (path: string): boolean => (files.get(path) ?? "").split("\n").length <= 40;
  return sources.filter(
    (path) => isSmall(path) && new Set(importers.get(path)?.map(({ from }) => from)).size === 1,
  ).length;
}

/** Returns whether a file decides or does a reconcile of a VaultSecret. */
const isReconcile = (path: string): boolean =>
  isSource(path) &&
  /^src\/operator\/(?:sync|controllers\/(?:sync|status|outcome)|controllers\/[\w-]+\.ts)/.test(
    path,
  );

function namedTypes(files: Files): number {
  const texts = [...files].filter(([path]) => isReconcile(path)).map(([, text]) => text);
  return texts.flatMap((text) => [...text.matchAll(/^(?:export )?(?:interface|type) \w+/gm)])
    .length;
}

function worlds(files: Files): number {
  const texts = [...files].filter(([path]) =>
    /^(?:test|(?:scripts\/)?(?:bench|demo))\//.test(path),
  );
  const names = texts.flatMap(([, text]) => [...text.matchAll(WORLD)].map(([, name]) => name));
  return names.length;
}

/** Returns how often 10,000 words of prose use a construction that the prose check counts. */
function constructions(files: Files, matches: (path: string) => boolean): number {
  const matching = [...files].filter(([path]) => matches(path));
  const uses = matching.flatMap(([path, text]) => usesIn(path, text)).length;
  const pieces = matching.flatMap(([path, text]) => proseIn(path, text));
  const words = pieces.reduce((sum, { text }) => sum + text.split(/\s+/u).length, 0);
  return Math.round((uses / Math.max(1, words)) * 10_000);
}

function npmScripts(files: Files): number {
  const { scripts = {} }: { scripts?: object } = JSON.parse(files.get("package.json") ?? "{}");
  return Object.keys(scripts).length;
}

/** Returns what the repository consists of: a figure for each line of the table. */
function figures(files: Files): Map<string, number> {
  const paths = [...files.keys()];
  return new Map([
    ["files", files.size],
    ["entries of the root", new Set(paths.map((path) => path.split("/")[0])).size],
    ["npm scripts", npmScripts(files)],
    ["source: files", count(files, isSource)],
    ["source: kB", kilobytes(files, isSource)],
    ["source: files of at most 40 lines with one importer", smallWithOneImporter(files)],
    ["tests: kB", kilobytes(files, isTest)],
    ["test support: kB", kilobytes(files, isSupport)],
    ["test support: worlds", worlds(files)],
    ["test support: doubles of a vault", count(files, (path) => VAULT_DOUBLE.test(path))],
    ["docs: pages", count(files, (path) => /^docs\/[^/]+\.md$/.test(path))],
    ["docs: kB", kilobytes(files, isDocs)],
    ["docs: constructions in 10,000 words", constructions(files, isDocs)],
    [
      "source: constructions in 10,000 words",
      constructions(files, (path) => isSource(path) && isCode(path)),
    ],
    ["manifests: kB", kilobytes(files, isManifest)],
    ["a reconcile: files", count(files, isReconcile)],
    ["a reconcile: named types", namedTypes(files)],
    [
      "controllers: files",
      count(files, (path) => isSource(path) && path.startsWith("src/operator/controllers/")),
    ],
  ]);
}

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
