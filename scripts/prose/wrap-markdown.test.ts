import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { wrapMarkdown } from "./wrap-markdown.ts";

const long = "word ".repeat(30).trim();

describe("wrapMarkdown", () => {
  test("wraps a paragraph at 100 columns and joins short lines", () => {
    const lines = wrapMarkdown(`${long}\nand more\n`).split("\n");
    expect(lines).toEqual([
      "word ".repeat(20).trim(),
      "word word word word word word word word word word and more",
      "",
    ]);
  });

  test("indents the lines of a list item below its text", () => {
    expect(wrapMarkdown(`- ${long}\n  - ${long}`)).toBe(
      `- ${"word ".repeat(19).trim()}\n  ${"word ".repeat(11).trim()}\n  - ${"word ".repeat(19).trim()}\n    ${"word ".repeat(11).trim()}`,
    );
  });

  test.each([
    ["a table", `| ${long} |`],
    ["a heading", `## ${long}`],
    ["a code block", `\`\`\`\n${long}\nx\n\`\`\``],
    ["an indented code block of a list item", `1. x\n\n   \`\`\`\n   ${long}\n   x\n   \`\`\``],
    ["a generated section", `<!-- generated: x -->\n\n${long}\n\n<!-- end -->`],
  ])("leaves %s unchanged", (_, text) => {
    expect(wrapMarkdown(text)).toBe(text);
  });

  test("keeps inline code on one line", () => {
    const code = `\`${"a b ".repeat(20)}\``;
    expect(wrapMarkdown(`${"word ".repeat(10)}${code}`).split("\n")).toContain(code);
  });

  test("starts no line with a word that would begin a list, a heading or a quotation", () => {
    const word = fc.constantFrom("-", "+", "1.", "#", ">", "|", "a", "word");
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 200 }), (words) => {
        const text = ["word", ...words].join(" ");
        const [, ...rest] = wrapMarkdown(text).split("\n");
        for (const line of rest) expect(line).toMatch(/^(?:a|word)\b/u);
      }),
    );
  });

  test("wraps a wrapped page to itself and keeps every word", () => {
    const word = fc.stringMatching(/^[a-z`.,-]{1,30}$/u);
    const page = fc
      .array(fc.oneof(word, fc.constantFrom("\n\n", "\n- ", "\n| x |\n", "\n")))
      .map((parts) => parts.join(" "));
    fc.assert(
      fc.property(page, (text) => {
        const wrapped = wrapMarkdown(text);
        expect(wrapMarkdown(wrapped)).toBe(wrapped);
        expect(wrapped.split(/\s+/u).filter(Boolean)).toEqual(text.split(/\s+/u).filter(Boolean));
      }),
    );
  });
});
