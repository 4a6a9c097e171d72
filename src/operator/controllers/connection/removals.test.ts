import { describe, expect, test } from "vitest";
import {
  alone,
  INTERVAL,
  methodsOf,
  names,
  type RemovalsConnection,
  RemovalsVault,
  VAULT_URL,
  RULE,
} from "../../../../test/lab/simulated/removals-scene.ts";

/**
 * Returns two connections to one vault: the first lost the name `a` and has proved that, the other
 * one has not listed since.
 */
function oneIsProven(): [RemovalsConnection, RemovalsConnection] {
  const vault = new RemovalsVault();
  const [one, other] = [vault.connection(), vault.connection({ intervalMs: 100 * INTERVAL })];
  one.list(["a", ...names(50)], []);
  other.list(["b"], [], { afterMs: 0 });
  one.list([], ["a"]);
  for (const _ of [1, 2]) one.list([], []);
  return [one, other];
}

describe("the proof that a name is deleted", () => {
  test("takes three lists without it over two intervals", () => {
    const { list, untilProven } = methodsOf(alone());
    list(["a"], []);
    expect(untilProven("a")).toBe(Infinity);
    list([], ["a"]);
    expect(untilProven("a")).toBe(2 * INTERVAL);
    list([], [], { afterMs: 1_000 });
    list([], [], { afterMs: 1_000 });
    expect(untilProven("a")).toBe(2 * INTERVAL - 2_000);
    list([], [], { afterMs: 2 * INTERVAL - 2_001 });
    expect(untilProven("a")).toBe(INTERVAL);
    list([], [], { afterMs: 1 });
    expect(untilProven("a")).toBe(0);
  });

  test("is reported with the list that completes it, once, if a resource removes the keys", () => {
    const { one, list } = methodsOf(alone());
    const proven = (): string[] => [...one.removals.proven("secret")];
    one.retained.add("b");
    expect(proven()).toEqual([]);
    list(["a", "b", "c"], []);
    list([], ["a", "b"]);
    list([], ["c"]);
    expect(proven()).toEqual([]);
    expect([...one.removals.proven("file")]).toEqual([]);
    list([], [], { afterMs: INTERVAL - 1 });
    expect(proven()).toEqual([]);
    list([], [], { afterMs: 1 });
    expect(proven()).toEqual(["a"]);
    list([], []);
    expect(proven()).toEqual(["c"]);
    list([], []);
    expect(proven()).toEqual([]);
  });

  test("is not complete after two lists, however far apart", () => {
    const { list, untilProven } = methodsOf(alone());
    list(["a"], []);
    list([], ["a"]);
    list([], [], { afterMs: 10 * INTERVAL });
    expect(untilProven("a")).toBe(INTERVAL);
    list([], []);
    expect(untilProven("a")).toBe(0);
  });

  test("is not complete after two lists that are exactly two intervals apart", () => {
    const { list, untilProven } = methodsOf(alone());
    list(["a"], []);
    list([], ["a"]);
    list([], [], { afterMs: 2 * INTERVAL });
    expect(untilProven("a")).toBe(INTERVAL);
  });

  test("continues when another property of the absent name changes", () => {
    const { list, untilProven } = methodsOf(alone());
    list(["a"], []);
    for (const _ of [1, 2, 3]) list([], ["a"]);
    expect(untilProven("a")).toBe(0);
  });

  test("ends when the name is listed again, or no longer referenced", () => {
    const one = alone();
    one.list(["a", "b"], []);
    one.list([], ["a", "b"]);
    one.list(["a"], []);
    expect(one.untilProven("a")).toBe(Infinity);
    one.unreferenced.add("b");
    one.removals.prune();
    expect(one.untilProven("b")).toBe(Infinity);
    one.list([], ["a"]);
    expect(one.untilProven("a")).toBe(2 * INTERVAL);
  });

  // Found by the simulation: it never began again.
  test("begins again when the name is referenced again before the next list", () => {
    const one = alone();
    one.list(["a"], []);
    one.list([], ["a"]);
    one.unreferenced.add("a");
    one.removals.prune();
    one.unreferenced.delete("a");
    expect(one.untilProven("a")).toBe(2 * INTERVAL);
    one.list([], []);
    expect([...one.removals.proven("secret")]).toEqual([]);
    one.list([], []);
    expect([...one.removals.proven("secret")]).toEqual(["a"]);
    expect(one.untilProven("a")).toBe(0);
  });

  test("of a file begins with the lists of files", () => {
    const one = alone();
    one.list([], ["f"]);
    expect(one.untilProven("f", "file")).toEqual(Infinity);
    expect(one.untilProven("f")).toEqual(2 * INTERVAL);
    one.list(["f", "g"], [], { kind: "file" });
    one.list([], ["g"], { kind: "file" });
    expect(one.untilProven("f", "file")).toEqual(Infinity);
    expect(one.untilProven("g", "file")).toEqual(2 * INTERVAL);
  });
});

describe("the proof that a name is deleted, of one of two connections to a vault,", () => {
  test("waits for a list of the other one, and requests it", () => {
    const [one, other] = oneIsProven();
    expect(one.untilProven("a")).toEqual(INTERVAL);
    expect(other.listedSoon).toBe(1);
    expect(one.listedSoon).toBe(0);
    other.list([], [], { afterMs: 0 });
    expect(one.untilProven("a")).toBe(0);
    expect(other.listedSoon).toBe(1);
  });

  test("waits for the first list of the other one", () => {
    const vault = new RemovalsVault();
    const one = vault.connection();
    one.list(["a"], []);
    one.list([], ["a"]);
    const other = vault.connection();
    for (const _ of [1, 2]) one.list([], []);
    expect(one.untilProven("a")).toBe(INTERVAL);
    other.list([], ["b"], { afterMs: 0 });
    expect(one.untilProven("a")).toBe(0);
  });

  test("waits for both lists of the other one", () => {
    const [one, other] = oneIsProven();
    other.list(["f"], [], { afterMs: 0, kind: "file" });
    expect(one.untilProven("a")).toBe(INTERVAL);
    other.list([], [], { afterMs: 0 });
    expect(one.untilProven("a")).toBe(0);
  });

  test("does not wait while the other one is stale, or closed, or of another vault", () => {
    const [one, other] = oneIsProven();
    other.isStale = true;
    expect(one.untilProven("a")).toBe(0);
    other.isStale = false;
    expect(one.untilProven("a")).toBe(INTERVAL);
    other.removals[Symbol.dispose]();
    expect(one.untilProven("a")).toBe(0);
    const vault = new RemovalsVault();
    const [first] = [
      vault.connection({ url: `${VAULT_URL}/a` }),
      vault.connection({ url: "https://other.example.com" }),
    ];
    first.list(["a"], []);
    first.list([], ["a"]);
    for (const _ of [1, 2]) first.list([], []);
    expect(first.untilProven("a")).toBe(0);
    vault.connection({ url: `${VAULT_URL}/b` });
    expect(first.untilProven("a")).toBe(INTERVAL);
  });

  test("waits for ten minutes at most", () => {
    const [one] = oneIsProven();
    one.list([], [], { afterMs: 599_999 });
    expect(one.untilProven("a")).toBe(INTERVAL);
    one.list([], [], { afterMs: 1 });
    expect(one.untilProven("a")).toBe(0);
  });
});

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

/** Returns a connection with a rule that requests metadata and found `count` names. */
function ruled(count: number): RemovalsConnection {
  const one = alone();
  one.hasRules = true;
  one.list(names(count), []);
  return one;
}

describe("a rule that requests metadata", () => {
  test("loses a name whose metadata changed on the same proof as a name that is gone", () => {
    const one = ruled(10);
    expect(one.list(["n0"], [], { isProd: false })).toBe(0);
    expect(one.untilProven("n0")).toEqual(Infinity);
    expect(one.untilProven("n0", "secret", { rule: RULE })).toBe(2 * INTERVAL);
    for (const _ of [1, 2]) one.list([], []);
    expect(one.untilProven("n0", "secret", { rule: RULE })).toBe(0);
    one.list(["n0"], []);
  });

  test("holds the names that it loses together, once each", () => {
    const one = ruled(20);
    expect(one.list(names(4), [], { isProd: false })).toBe(0);
    expect(one.list(["n4"], [], { isProd: false })).toBe(5);
    expect(one.list([], ["n4"])).toBe(5);
    expect(one.list(names(4), [])).toBe(1);
  });

  test.each([
    [24, 5],
    [25, 0],
  ])("is compared with the listed names: five of %d, %d held", (all, held) => {
    expect(ruled(all).list(names(5), [], { isProd: false })).toBe(held);
  });

  test("that no list was compared with begins its proof when it is asked for", () => {
    const one = alone();
    one.list(names(1), [], { isProd: false });
    expect(one.untilProven("n0", "secret", { rule: RULE })).toBe(2 * INTERVAL);
    for (const _ of [1, 2]) one.list([], []);
    expect(one.untilProven("n0", "secret", { rule: RULE })).toBe(0);
  });

  test("loses with the first list what it found before, as the targets show", () => {
    const one = alone();
    one.hasRules = true;
    for (const name of names(5)) one.claimed.add(name);
    expect(one.list(names(10), [], { isProd: false })).toBe(5);
  });

  test("loses nothing that it did not find", () => {
    const one = alone();
    one.list(names(10), [], { isProd: false });
    one.hasRules = true;
    for (const name of names(10)) one.claimed.add(name);
    expect(one.list(names(10), [], { isProd: false })).toBe(0);
  });
});

describe("a hold that an earlier client published", () => {
  test("holds what the first list lacks, however little", () => {
    const one = new RemovalsVault().connection({ wasHeld: true });
    one.served.add("secret n0");
    expect(one.removals.isResuming).toBe(true);
    expect(one.list(names(20, 1), ["n0"])).toBe(1);
    expect(one.removals.isResuming).toBe(false);
    expect(one.list(["n0"], [])).toBe(0);
    expect(one.list([], ["n1"])).toBe(0);
    expect(alone().removals.isResuming).toBe(false);
  });

  test("waits for the first list of files if there are any", () => {
    const one = new RemovalsVault().connection({ wasHeld: true });
    one.hasFiles = true;
    one.served.add("file f");
    one.list(["a"], []);
    expect(one.removals.isResuming).toBe(true);
    expect(one.list(["g"], ["f"], { kind: "file" })).toBe(1);
    expect(one.removals.isResuming).toBe(false);
  });
});
