import { expect, test } from "vitest";
import { GroupIndex, Groups } from "./groups.ts";

test("a group has each member once, in the order of their addition", () => {
  const groups = new Groups();
  const states = [[...groups.get("a")]];
  const record = (): void => void states.push([...groups.get("a")]);
  for (const member of ["one", "one", "two", "three", "two"]) {
    groups.add("a", member);
    record();
  }
  groups.add("b", "two");
  for (const member of ["four", "one", "two", "three", "three"]) {
    groups.remove("a", member);
    record();
  }
  const all = ["one", "two", "three"];
  expect(states).toEqual([
    [],
    ["one"],
    ["one"],
    ["one", "two"],
    all,
    all,
    all,
    ["two", "three"],
    ["three"],
    [],
    [],
  ]);
  expect([...groups.names()]).toEqual(["b"]);
});

test("the removal of another member leaves a group of one unchanged", () => {
  const groups = new Groups();
  groups.add("a", "one");
  groups.remove("a", "two");
  groups.remove("b", "one");
  expect([...groups.get("a")]).toEqual(["one"]);
});

test("an index finds a member by its current names in each group, and by no former one", () => {
  const index = new GroupIndex<"color" | "size">();
  const before = [
    ["color", "red"],
    ["size", "small"],
  ] as const;
  index.replace("apple", [], before);
  index.replace("cherry", [], [["color", "red"]]);
  index.replace("apple", before, [["color", "small"]]);
  expect([...index.get("color", "red")]).toEqual(["cherry"]);
  expect([...index.get("color", "small")]).toEqual(["apple"]);
  expect([...index.get("size", "small")]).toEqual([]);
  expect([...index.names("color")]).toEqual(["red", "small"]);
  expect(index.size).toBe(2);
});
