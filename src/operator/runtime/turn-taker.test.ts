import { expect, test } from "vitest";
import { TurnTaker } from "./turn-taker.ts";

function drain(turns: TurnTaker): string[] {
  const taken: string[] = [];
  for (let key = turns.take(); key !== undefined; key = turns.take()) taken.push(key);
  return taken;
}

test("groups take turns, and within a group the first comes first", () => {
  const turns = new TurnTaker();
  for (const key of ["a1", "a2", "a3", "b1", "c1", "c2"]) turns.add(key.slice(0, 1), key);
  expect(drain(turns)).toEqual(["a1", "b1", "c1", "a2", "c2", "a3"]);
});

test("a group that has had its turn stands at the end, also for what it adds later", () => {
  const turns = new TurnTaker();
  for (const key of ["a1", "a2", "b1"]) turns.add(key.slice(0, 1), key);
  expect(turns.take()).toBe("a1");
  turns.add("c", "c1");
  expect(drain(turns)).toEqual(["b1", "a2", "c1"]);
});

test("a removed key is not taken, and an emptied group has no turn", () => {
  const turns = new TurnTaker();
  for (const key of ["a1", "b1"]) turns.add(key.slice(0, 1), key);
  turns.remove("a", "a1");
  turns.remove("nobody", "x");
  expect(drain(turns)).toEqual(["b1"]);
});
