import { proseIn, type Prose } from "./prose-in.ts";

/**
 * A word that the project does not use, with the standard term that replaces it (CONTRIBUTING.md,
 * "Vocabulary").
 */
interface BannedWord {
  readonly pattern: RegExp;
  readonly instead: string;
}

const word = (source: string): RegExp => new RegExp(`\\b(?:${source})\\b`, "gi");

/** Checked in comments, string literals, test names and Markdown. */
const bannedWords: readonly BannedWord[] = [
  { pattern: word("answer(?:s|ed|ing)?"), instead: "return, respond, response" },
  {
    pattern: word("somebody|anybody|nobody|everybody|whoever"),
    instead: "user, caller, client, recipient",
  },
  { pattern: word("people|persons?"), instead: "user, caller, recipient" },
  { pattern: word("moments?"), instead: "time, timestamp, deadline" },
  { pattern: word("told|tells"), instead: "is notified, reported, logged" },
  { pattern: word("as (?:it|they) (?:is|are|was|were)"), instead: "unchanged" },
  { pattern: word("anew|made again"), instead: "again, recreated" },
  { pattern: word("at once"), instead: "immediately, in one request" },
  { pattern: word("goes on|under way|begun"), instead: "continues, in progress, started" },
  { pattern: word("put right|mend(?:s|ed|ing)?"), instead: "fix, repair" },
  {
    pattern: word("for good|for ever|again and again"),
    instead: "permanently, indefinitely, repeatedly",
  },
  { pattern: word("beside"), instead: "next to, in addition to" },
  { pattern: word("left out"), instead: "omitted, skipped" },
  { pattern: word("in step|back-off"), instead: "in sync; backoff" },
  { pattern: word("rooms?|doors?"), instead: "module, package" },
  { pattern: word("log-ins?|log-outs?"), instead: "login, logout (noun); log in, log out (verb)" },
  { pattern: word("e-mails?"), instead: "email" },
  { pattern: word("letters?|letterhead"), instead: "email, message" },
  { pattern: word("lapse[sd]?"), instead: "expired" },
  { pattern: word("put away|throw-away"), instead: "dismiss; ephemeral" },
  { pattern: word("spoiled"), instead: "corrupted, malformed" },
  {
    pattern: word("failed for good|needs a person|truth value"),
    instead: "terminal error; requires action; boolean",
  },
];

/** Checked in comments only: a citation of something that is not in the repository. */
const citations: readonly BannedWord[] = [
  { pattern: /\bSources?: /g, instead: "the reason, or a link to a heading in docs/" },
  { pattern: /\b(?:design|contract): /g, instead: "the reason, or a link to a heading in docs/" },
  { pattern: /\bissues? \d+\b/gi, instead: "the reason, or a link to a heading in docs/" },
];

/** Doc comments start with a verb or a noun phrase. */
const noClauseStart = /^(?:What|How|Where|Whether|Who|Of)\b/;

/** Longest name of a test, so that it fits a line of a failing run. */
const longestTestName = 90;

/** Places where a banned word is right. `text` is part of the line. */
const exceptions: readonly {
  readonly path: RegExp;
  readonly text: RegExp;
  readonly reason: string;
}[] = [
  {
    path: /^\.github\/CONTRIBUTING\.md$/,
    text: /^\| .* \| .* \|$/,
    reason: "the table of replacements",
  },
  {
    path: /./,
    text: /\b(?:letters, digits|consist of letters|lower-case letters)\b/i,
    reason: "letters of the alphabet",
  },
  { path: /\.test\.ts$/, text: /nobody@example\.com/, reason: "an address without an account" },
  {
    path: /(?:sql-list-revisions|change-feed)\.ts$/,
    text: /person:/,
    reason: "subjects stored in list_revisions",
  },
];

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
