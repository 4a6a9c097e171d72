import { expect, test } from "vitest";
import { parseEnvFile } from "./env-file.ts";

test.each([
  ["A=1", { A: "1" }],
  ["export A = one two  ", { A: "one two" }],
  ["A=", { A: "" }],
  ["# comment\n\n  \nA=1", { A: "1" }],
  ["A=1 # comment\nB=a#b\nC=#none", { A: "1", B: "a#b", C: "" }],
  [`A='it is # "literal" \\n' # comment`, { A: `it is # "literal" \\n` }],
  [`A="two\\nlines \\"quoted\\" \\$x \\d"`, { A: `two\nlines "quoted" $x \\d` }],
  ['KEY="-----BEGIN\nabc\n-----END"\nB=2', { KEY: "-----BEGIN\nabc\n-----END", B: "2" }],
  ["A=1\r\nB=2\r\n", { A: "1", B: "2" }],
  ["\uFEFFA=1\nA=2", { A: "2" }],
  ["URL=postgres://u:p@h/db?a=b", { URL: "postgres://u:p@h/db?a=b" }],
  ["__proto__=x\nspring.datasource-url=y", { ["__proto__"]: "x", "spring.datasource-url": "y" }],
])("variables of %j", (text, expected) => {
  const { variables, unreadable } = parseEnvFile(text);
  expect(unreadable).toEqual([]);
  expect(variables).toEqual(Object.entries(expected).map(([name, value]) => ({ name, value })));
});

test("lines that are no variables are named, and the others are read", () => {
  const { variables, unreadable } = parseEnvFile(`A=1\nnot a variable\nB="open\nC=3\n=x`);
  expect(unreadable).toEqual([2, 3, 5]);
  expect(variables.map(({ name }) => name)).toEqual(["A", "C"]);
});

test("names with several values are named, and the last value counts", () => {
  const { variables, repeated } = parseEnvFile("A=1\nB=2\nA=3\nA=4");
  expect(repeated).toEqual(["A"]);
  expect(variables).toEqual([
    { name: "A", value: "4" },
    { name: "B", value: "2" },
  ]);
});

test("a file of many open quotes takes time in proportion to its length", () => {
  expect(parseEnvFile(`A="\n`.repeat(2000)).unreadable).toHaveLength(0);
  expect(parseEnvFile(`A='\n${"b\n".repeat(5000)}`).unreadable.length).toBeGreaterThan(5000);
});
