import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentOfJson, isObjectText, partsOfJson, selectJson } from "./json-text.ts";

/** The example document of RFC 6901, section 5. */
const EXAMPLE = String.raw`{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}`;

const select = (text: string, pointer: string): string | undefined => {
  const found = selectJson(text, pointer);
  return typeof found === "object" ? found.text : found;
};

test.each([
  ["/foo", `["bar", "baz"]`],
  ["/foo/0", `"bar"`],
  ["/", "0"],
  ["/a~1b", "1"],
  ["/c%d", "2"],
  ["/e^f", "3"],
  ["/g|h", "4"],
  ["/i\\j", "5"],
  ['/k"l', "6"],
  ["/ ", "7"],
  ["/m~0n", "8"],
])("selectJson finds %s of the example of RFC 6901", (pointer, text) => {
  expect(select(EXAMPLE, pointer)).toBe(text);
});

test.each([
  "/fo",
  "/foo/2",
  "/foo/00",
  "/foo/-",
  "/foo/01",
  "/foo/0/0",
  "/a/b",
  "//",
  "/foo/length",
])("selectJson finds nothing at %s of the example of RFC 6901", (pointer) => {
  expect(selectJson(EXAMPLE, pointer)).toBeUndefined();
});

test("selectJson unescapes ~01 to ~1, and not to /", () => {
  expect(select(`{"~1": "tilde", "/": "slash"}`, "/~01")).toBe(`"tilde"`);
});

test("selectJson treats __proto__ as a name like any other, and no inherited one as a member", () => {
  expect(select(`{"__proto__": {"a": "x"}}`, "/__proto__/a")).toBe(`"x"`);
  for (const pointer of ["/__proto__", "/constructor", "/toString"])
    expect(selectJson("{}", pointer)).toBeUndefined();
});

test("selectJson reports two members of the selected name, also if one is escaped", () => {
  expect(selectJson(String.raw`{"a": 1, "\u0061": 2, "b": 3}`, "/a")).toBe("ambiguous");
  expect(select(String.raw`{"a": 1, "\u0061": 2, "b": 3}`, "/b")).toBe("3");
});

test.each(["1e400", "12345678901234567890", "-0", "1.10", "0.1e-7"])(
  "a number keeps its digits: %s",
  (number) => {
    expect(select(`{"n":\n${number} , "list":[${number}]}`, "/n")).toBe(number);
    expect(contentOfJson(select(`[[ ${number}]]`, "/0/0") ?? "")).toBe(number);
  },
);

describe("for any JSON value", () => {
  const spaced = fc.constantFrom(undefined, 1, "\t", "\n  ");

  test("the parts are those that the parser finds", () => {
    fc.assert(
      fc.property(fc.jsonValue(), spaced, (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        const parts = partsOfJson(text)?.map(([name, part]): [string, unknown] => [
          name,
          JSON.parse(part),
        ]);
        const isContainer = typeof value === "object" && value !== null;
        expect(parts && Object.fromEntries(parts)).toEqual(
          isContainer ? { ...JSON.parse(text) } : undefined,
        );
        expect(isObjectText(text)).toBe(isContainer && !Array.isArray(value));
      }),
    );
  });

  test("the content of a string is the string, that of anything else its text", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(contentOfJson(` ${text}\n`)).toBe(typeof value === "string" ? value : text);
      }),
    );
  });
});
