import { expect, test } from "vitest";
import { valueEntries } from "./value-entries.ts";

test.each<[string, string, readonly (readonly [string, string])[]]>([
  [
    "an .env file",
    "# main\nDB_HOST=db\nexport DB_PASSWORD='p a s s'\n",
    [
      ["DB_HOST", "db"],
      ["DB_PASSWORD", "p a s s"],
    ],
  ],
  [
    "a JSON object",
    '{"user":"ann","db":{"password":"p","ports":[1,2]},"a/b":true}',
    [
      ["user", "ann"],
      ["db/password", "p"],
      ["db/ports", "[1,2]"],
      ["a/b", "true"],
    ],
  ],
  ["one line with an equals sign", "cGFzcw==", []],
  ["an .env file with a line that is no variable", "A=1\nB=2\nno variable\n", []],
  ["a JSON array", "[1,2]", []],
  ["an empty JSON object", "{}", []],
  ["a text", "hello\nworld", []],
  ["an empty value", "", []],
])("valueEntries returns the entries of %s", (_what, value, expected) => {
  expect(valueEntries(value).map((entry) => [entry.name, entry.value])).toEqual(expected);
});

test("valueEntries returns none of a value with more entries than a page shows", () => {
  const members = Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`k${at}`, "v"]));
  expect(valueEntries(JSON.stringify(members))).toEqual([]);
});
