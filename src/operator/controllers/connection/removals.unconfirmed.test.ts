import { expect, test } from "vitest";
import { alone, methodsOf, names } from "../../../../test/lab/simulated/removals-scene.ts";

/** Returns a connection of 100 names that lost 21 of them. */
function holding(): ReturnType<typeof methodsOf> {
  const scene = methodsOf(alone());
  for (const name of names(21)) scene.one.served.add(`secret ${name}`);
  scene.list(names(100), []);
  expect(scene.list([], names(21))).toBe(21);
  return scene;
}

function refer(scene: ReturnType<typeof methodsOf>, isReferring: boolean): void {
  for (const name of names(21)) {
    if (isReferring) scene.one.unreferenced.delete(name);
    else scene.one.unreferenced.add(name);
  }
  scene.one.removals.prune();
}

test("a name that was held is held again when a spec names it again, however few there are", () => {
  const scene = holding();
  refer(scene, false);
  expect(scene.one.removals.held).toBe(0);
  scene.one.unreferenced.delete("n0");
  expect(scene.list([], ["n0"])).toBe(1);
  scene.one.removals.confirm();
  expect(scene.one.removals.held).toBe(0);
});

test("a name that was held is not held again if it is confirmed or listed, or has no bytes", () => {
  for (const end of ["confirmed", "listed", "lost"]) {
    const scene = holding();
    if (end === "confirmed") scene.one.removals.confirm();
    refer(scene, false);
    scene.one.unreferenced.delete("n0");
    if (end === "listed") scene.list(["n0"], []);
    if (end === "lost") scene.one.bytes.delete("secret n0");
    expect(scene.list([], ["n0"])).toBe(0);
  }
});

test("a name that a status shows as unconfirmed is held by the first list, whatever it lacks", () => {
  const { one, list } = methodsOf(alone());
  for (const shown of [one.served, one.bytes]) shown.add("secret n0");
  one.unconfirmed.add("n0");
  expect(list(names(100, 1), ["n0"])).toBe(1);
});

test("an absence begins again for a resource whose bytes no list was compared with", () => {
  const { one, list, untilProven } = methodsOf(alone());
  list(names(100, 1), ["n0"]);
  for (const _ of [1, 2]) list([], []);
  expect(untilProven("n0")).toBe(0);
  one.removals.referencesChanged({ kind: "secret", names: ["n0"] });
  expect(untilProven("n0")).toBe(0);
  for (const shown of [one.served, one.bytes]) shown.add("secret n0");
  one.removals.referencesChanged({ kind: "secret", names: ["n0"] });
  expect(untilProven("n0")).toBeGreaterThan(0);
});
