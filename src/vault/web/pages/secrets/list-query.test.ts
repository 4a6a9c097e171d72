import { expect, test } from "vitest";
import { parseView, viewQuery } from "./list-query.ts";
import { firstView, type ListView } from "./list-view.ts";

test.each<Partial<ListView>>([
  {},
  { search: "a&b=c 50 % #", kind: "given", order: "expires", page: 3 },
  { environment: "prod", folder: "prod/check out" },
])("the view %j is restored from its address", (changes) => {
  const view = { ...firstView, ...changes };
  expect(parseView(viewQuery(view))).toEqual(view);
});

test("the first view needs no query", () => {
  expect(viewQuery(firstView)).toBe("");
});

test.each(["kind=theirs&order=size&page=-1", "page=1.5", "page=x", "unknown=1"])(
  "of %s only what is valid counts",
  (query) => {
    expect(parseView(query)).toEqual(firstView);
  },
);
