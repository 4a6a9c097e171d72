import { expect, test } from "vitest";
import { Groups } from "./groups.ts";

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
