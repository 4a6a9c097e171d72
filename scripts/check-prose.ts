/**
 * Fails when a comment, a message, a test name or a Markdown page uses a word that CONTRIBUTING.md
 * replaces.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { findProseProblems } from "./prose/find-prose-problems.ts";

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => /\.(?:tsx?|md)$/.test(path) && !path.startsWith("scripts/prose/"));
const problems = files.flatMap((path) => {
  try {
    return findProseProblems(path, readFileSync(path, "utf8"));
  } catch {
    return []; // deleted in the working tree
  }
});
for (const { path, line, message } of problems) console.error(`${path}:${line}: ${message}`);
if (problems.length > 0) {
  console.error(
    `\n${problems.length} problems in ${files.length} files; the vocabulary is in CONTRIBUTING.md.`,
  );
  process.exitCode = 1;
}
