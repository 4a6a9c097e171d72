import { proseIn, type Prose } from "./prose-in.ts";
import {
  bannedWords,
  citations,
  exceptions,
  longestTestName,
  noClauseStart,
  type BannedWord,
} from "./vocabulary.ts";

export interface ProseProblem {
  readonly path: string;
  /** 1-based. */
  readonly line: number;
  readonly message: string;
}

/**
 * Returns the problems of one file: banned words, citations, doc comments that start with a clause,
 * test names that are too long, rows of tables without a header.
 */
export function findProseProblems(path: string, content: string): ProseProblem[] {
  const lines = content.split("\n");
  const lineStarts = offsetsOfLines(lines);
  const lineAt = (offset: number): number => lineStarts.findLastIndex((start) => start <= offset);
  const pieces = proseIn(path, content);
  const problems: ProseProblem[] = [];
  const report = (offset: number, message: string): void => {
    const index = lineAt(offset);
    const text = lines[index] ?? "";
    if (exceptions.some((exception) => exception.path.test(path) && exception.text.test(text)))
      return;
    problems.push({ path, line: index + 1, message });
  };
  for (const piece of pieces) {
    for (const rule of rulesFor(piece)) {
      for (const match of piece.text.matchAll(rule.pattern)) {
        report(piece.offset + match.index, `"${match[0].trim()}": write ${rule.instead}`);
      }
    }
    const start = /^\/\*\*[\s*]*/.exec(piece.text)?.[0].length;
    const clause =
      start === undefined ? undefined : noClauseStart.exec(piece.text.slice(start))?.[0];
    if (clause !== undefined)
      report(piece.offset, `"${clause} …": start a doc comment with a verb or a noun phrase`);
  }
  for (const { name, offset } of testNames(content)) {
    if (name.length > longestTestName)
      report(offset, `test name of ${name.length} characters: at most ${longestTestName}`);
  }
  for (const index of path.endsWith(".md") ? tornTables(lines) : [])
    report(
      lineStarts[index] ?? 0,
      "row of a table without a header: remove the blank line before it",
    );
  return problems;
}

/** Returns the indexes of lines at which a table continues after a blank line. */
function tornTables(lines: readonly string[]): number[] {
  const isRow = (index: number): boolean => lines[index]?.startsWith("|") === true;
  return [...lines.keys()].filter(
    (index) => isRow(index) && !isRow(index - 1) && !/^\|[-| :]+\|$/.test(lines[index + 1] ?? ""),
  );
}

function rulesFor(piece: Prose): readonly BannedWord[] {
  return piece.kind === "comment" ? [...bannedWords, ...citations] : bannedWords;
}

function offsetsOfLines(lines: readonly string[]): number[] {
  const starts: number[] = [];
  let offset = 0;
  for (const line of lines) {
    starts.push(offset);
    offset += line.length + 1;
  }
  return starts;
}

function testNames(content: string): { name: string; offset: number }[] {
  const pattern =
    /^[ \t]*(?:test|it|describe)(?:\.\w+)*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\(\s*(["`])((?:[^"`\\\n]|\\.)*)\1/gm;
  return [...content.matchAll(pattern)].map((match) => ({
    name: match[2] ?? "",
    offset: match.index,
  }));
}
