import { describe, expect, test } from "vitest";
import { findProseProblems } from "./find-prose-problems.ts";

const messages = (path: string, content: string): string[] =>
  findProseProblems(path, content).map(({ line, message }) => `${line}: ${message}`);

const declaration = (length: number): string => `test("${"x".repeat(length)}", () => {});\n`;

describe("findProseProblems", () => {
  test("reports a banned word in a comment, a string and a template", () => {
    const source = '// the vault answers\nconst a = "nobody may";\nconst b = `at once ${a}`;\n';
    expect(messages("src/a.ts", source)).toEqual([
      '1: "answers": write return, respond, response',
      '2: "nobody": write user, caller, client, recipient',
      '3: "at once": write immediately, in one request',
    ]);
  });

  test("ignores identifiers, strings of one word and code in backticks", () => {
    expect(
      messages(
        "src/a.ts",
        'const answer = "letter";\n// The field `person` is fixed by the interface.\n',
      ),
    ).toEqual([]);
    expect(messages("a.md", "Use `answer`.\n\n```\nanswer\n```\n[docs](answer.md)\n")).toEqual([]);
  });

  test("reports a citation in a comment only", () => {
    const source = "// Source: the contract\n";
    expect(messages("src/a.ts", source)).toEqual([
      '1: "Source:": write the reason, or a link to a heading in docs/',
    ]);
    expect(messages("a.md", "Source: the contract\n")).toEqual([]);
  });

  test("reports a table that a blank line tears", () => {
    const rows = "| a | b |\n|---|---|\n| 1 | 2 |\n";
    expect(messages("a.md", `${rows}| 3 | 4 |\n`)).toEqual([]);
    expect(messages("a.md", `${rows}\n| 3 | 4 |\n`)).toEqual([
      "5: row of a table without a header: remove the blank line before it",
    ]);
  });

  test("reports a doc comment that starts with a clause", () => {
    expect(messages("src/a.ts", "/** Whether it works. */\nexport const a = 1;\n")).toEqual([
      '1: "Whether …": start a doc comment with a verb or a noun phrase',
    ]);
    expect(messages("src/a.ts", "/**\n * Reports whether it works.\n */\n")).toEqual([]);
  });

  test("reports a test name over 90 characters and accepts one of 90", () => {
    expect(messages("a.test.ts", declaration(90))).toEqual([]);
    expect(messages("a.test.ts", `\n${declaration(91)}`)).toEqual([
      "2: test name of 91 characters: at most 90",
    ]);
  });
});
