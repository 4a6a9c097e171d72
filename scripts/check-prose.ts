/**
 * Fails when a comment, a message, a test name or a Markdown page uses a word that CONTRIBUTING.md
 * replaces, when a construction is used more often than its budget allows, and when a page is not
 * wrapped. With --write it wraps pages and lowers the budget to what is used.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { lowered, overBudget, type Budget, usesIn } from "./prose/constructions.ts";
import { findProseProblems } from "./prose/find-prose-problems.ts";
import { wrapMarkdown } from "./prose/wrap-markdown.ts";

const budgetFile = "scripts/prose/budget.json";
const write = process.argv.includes("--write");

const paths = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  encoding: "utf8",
})
  .split("\n")
  .filter((path) => /\.(?:tsx?|md)$/.test(path) && !path.startsWith("scripts/prose/"))
  .filter((path) => existsSync(path));
const files = paths.map((path) => ({ path, content: readFileSync(path, "utf8") }));

const problems = files.flatMap(({ path, content }) =>
  findProseProblems(path, content).map(({ line, message }) => `${path}:${line}: ${message}`),
);

for (const { path, content } of files) {
  if (!/^(?:(?:\.github\/)?[A-Z]+|docs\/.*)\.md$/.test(path) || path === "CHANGELOG.md") continue;
  const wrapped = wrapMarkdown(content);
  if (wrapped === content) continue;
  if (write) writeFileSync(path, wrapped);
  else
    problems.push(`${path}: not wrapped at 100 columns: run node scripts/check-prose.ts --write`);
}

const uses = files
  .filter(({ path }) => path !== "CHANGELOG.md")
  .flatMap(({ path, content }) => usesIn(path, content));
const budget: Budget = JSON.parse(readFileSync(budgetFile, "utf8"));
problems.push(...overBudget(uses, budget));
if (write) writeFileSync(budgetFile, `${JSON.stringify(lowered(uses, budget), undefined, 2)}\n`);

for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(
    `\n${problems.length} problems in ${files.length} files; see CONTRIBUTING.md, Prose.`,
  );
  process.exitCode = 1;
}
