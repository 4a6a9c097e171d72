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

/** A piece of prose in a source file. `kind` decides which rules apply. */
interface Prose {
  readonly kind: "comment" | "string" | "markdown";
  readonly text: string;
  /** Offset of the text in the file. */
  readonly offset: number;
}

/**
 * Returns the problems of one file: banned words, citations, doc comments that start with a clause,
 * test names that are too long.
 */
export function findProseProblems(path: string, content: string): ProseProblem[] {
  const lines = content.split("\n");
  const lineStarts = offsetsOfLines(lines);
  const lineAt = (offset: number): number => lineStarts.findLastIndex((start) => start <= offset);
  const pieces = path.endsWith(".md") ? markdownProse(content) : sourceProse(content);
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
  return problems;
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

/** Replaces text with spaces, so that offsets stay. */
const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");

/**
 * Returns a page without its code blocks, inline code and link targets, which quote names that are
 * fixed elsewhere.
 */
function markdownProse(content: string): Prose[] {
  const text = content
    .replaceAll(/^```[\s\S]*?^```/gm, blank)
    .replaceAll(/`[^`\n]*`/g, blank)
    .replaceAll(/\]\([^)\n]*\)/g, blank);
  return [{ kind: "markdown", text, offset: 0 }];
}

/**
 * Comments and string literals, in this order of alternatives so that `//` within a string is not a
 * comment.
 */
const tokens =
  /\/\*[\s\S]*?\*\/|(?<![:\w])\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|(?<=>)[^<>{}\n]*[A-Za-z][^<>{}\n]*(?=<|\{|$)/gm;

/**
 * Returns comments, and those string literals (and JSX texts) that contain a space: names and codes
 * are not prose.
 */
function sourceProse(content: string): Prose[] {
  return [...content.matchAll(tokens)].flatMap((match): Prose[] => {
    const [text] = match;
    if (text.startsWith("/*") || text.startsWith("//")) {
      return [{ kind: "comment", text: text.replaceAll(/`[^`\n]*`/g, blank), offset: match.index }];
    }
    return text.includes(" ") ? [{ kind: "string", text, offset: match.index }] : [];
  });
}

function testNames(content: string): { name: string; offset: number }[] {
  const pattern =
    /^[ \t]*(?:test|it|describe)(?:\.\w+)*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?\(\s*(["`])((?:[^"`\\\n]|\\.)*)\1/gm;
  return [...content.matchAll(pattern)].map((match) => ({
    name: match[2] ?? "",
    offset: match.index,
  }));
}
