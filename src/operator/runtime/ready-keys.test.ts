import { expect, test } from "vitest";
import { ReadyKeys, type Priority } from "./ready-keys.ts";

function scene() {
  const ready = new ReadyKeys();
  const add = (
    key: string,
    since: number,
    priority: Priority = "vault",
    cap = "",
    turn = "",
  ): void => ready.add({ key, priority, turn, cap, since });
  /** Takes all keys whose cap is not reached. */
  const take = (reached: string[] = []): string[] => {
    const taken: string[] = [];
    for (
      let next = ready.take((cap) => reached.includes(cap));
      next;
      next = ready.take((cap) => reached.includes(cap))
    )
      taken.push(next.key);
    return taken;
  };
  return { ready, add, take };
}

test("every fourth key is the oldest of all caps that are not reached, whatever its priority", () => {
  const { add, take } = scene();
  for (const [n, key] of ["s1", "s2", "s3", "s4", "s5"].entries()) add(key, 10 + n, "spec", "x");
  add("reached", 1, "background", "y");
  add("oldest", 2, "background", "z");
  add("older", 3, "background", "w");
  expect(take(["y"])).toEqual(["s1", "s2", "s3", "oldest", "s4", "s5", "older"]);
  expect(take()).toEqual(["reached"]);
});

test("the first added of equally old keys is the oldest", () => {
  const { add, take } = scene();
  for (const key of ["s1", "s2", "s3", "s4"]) add(key, 5, "spec", "x");
  add("b1", 1, "background", "y");
  add("b2", 1, "background", "z");
  expect(take()).toEqual(["s1", "s2", "s3", "b1", "s4", "b2"]);
});

test("a key added again keeps its age and its more urgent priority", () => {
  const { ready, add, take } = scene();
  add("a", 1, "background");
  add("b", 2, "vault");
  add("a", 3, "spec");
  add("a", 4, "drift");
  expect(ready.size).toBe(2);
  expect(ready.oldestSince).toBe(1);
  expect(take()).toEqual(["a", "b"]);
  expect(ready.size).toBe(0);
  expect(ready.oldestSince).toBeUndefined();
});

test("a key added again with the same priority keeps its turn", () => {
  const { add, take } = scene();
  add("a", 1);
  add("b", 2);
  add("a", 3);
  expect(take()).toEqual(["a", "b"]);
});

test("a key that moves to another cap is limited by that one only", () => {
  const { ready, add, take } = scene();
  add("a", 1, "vault", "x");
  add("a", 2, "vault", "y");
  expect(take(["y"])).toEqual([]);
  expect(ready.oldestSince).toBe(1);
  expect(take(["x"])).toEqual(["a"]);
  expect(ready.size).toBe(0);
  expect(ready.oldestSince).toBeUndefined();
});

test("after clear no key is left of any priority, and none is the oldest", () => {
  const { ready, add, take } = scene();
  add("a", 1, "spec", "x");
  add("b", 2, "background");
  ready.clear();
  expect(ready.size).toBe(0);
  expect(ready.oldestSince).toBeUndefined();
  add("c", 3, "vault");
  expect(take()).toEqual(["c"]);
});
