import { describe, expect, test } from "vitest";
import {
  alone,
  INTERVAL,
  methodsOf,
  names,
  RemovalsVault,
} from "../../../../test/lab/simulated/removals-scene.ts";

const own = (count: number, of: string): string[] => names(count).map((name) => `${of}-${name}`);

describe("the blast limit of one connection", () => {
  test.each([
    [4, 4, 0],
    [5, 24, 5],
    [5, 25, 0],
    [6, 25, 6],
  ])("holds of %d names that disappear of %d: %d names after that", (count, all, held) => {
    const { list } = methodsOf(alone());
    list(names(all), []);
    expect(list([], names(count))).toBe(held);
  });

  test.each([
    [4, 4, 0],
    [5, 24, 1],
    [5, 25, 0],
    [6, 25, 1],
  ])("holds a name that feeds %d of %d targets: %d names after that", (count, all, held) => {
    const one = alone();
    one.targets.set("a", names(count)).set("b", names(all - count, count));
    one.list(["a", "b"], []);
    expect(one.list([], ["a"])).toBe(held);
  });

  test("counts a target once, whatever the number of its names", () => {
    const one = alone();
    for (const name of names(20)) one.targets.set(name, ["same"]);
    one.list(names(20), []);
    expect(one.list([], names(4))).toBe(0);
  });

  test("counts what is not proven together, and what is proven no more", () => {
    const together = alone();
    together.list(names(6), []);
    expect(together.list([], names(3))).toBe(0);
    together.list([], []);
    expect(together.list([], names(3, 3), { afterMs: INTERVAL - 1 })).toBe(6);
    const apart = alone();
    apart.list(names(6), []);
    apart.list([], names(3));
    apart.list([], []);
    expect(apart.list([], names(3, 3))).toBe(0);
  });

  test("counts secrets and files together", () => {
    const { list } = methodsOf(alone());
    list(names(3), []);
    list(["kept", ...names(3)], [], { kind: "file" });
    list([], names(3), { kind: "file" });
    expect(list([], names(3), { afterMs: 1 })).toBe(6);
  });

  test("does not count a name that is back", () => {
    const { list } = methodsOf(alone());
    list(names(10), []);
    list([], names(4));
    list(names(4), [], { afterMs: 1 });
    expect(list([], ["n9"], { afterMs: 1 })).toBe(0);
  });

  test("holds a further name although few are held", () => {
    const { list } = methodsOf(alone());
    list(names(50), []);
    expect(list([], names(11))).toBe(11);
    expect(list(names(10), [])).toBe(1);
    expect(list([], ["n40"], { afterMs: 10 * INTERVAL })).toBe(2);
  });

  test("counts names whose keys nothing removes, and does not hold them", () => {
    const one = alone();
    for (const name of names(4)) one.retained.add(name);
    one.list(names(10), []);
    expect(one.list([], names(4))).toBe(0);
    expect(one.list([], ["n4"], { afterMs: 1 })).toBe(1);
    one.retained.clear();
    expect(one.list([], ["n5"], { afterMs: 1 })).toBe(6);
  });

  test("counts kept names until their absence is proven, or another one is confirmed", () => {
    for (const isConfirmed of [true, false]) {
      const one = alone();
      for (const name of names(5)) one.retained.add(name);
      one.list(names(20), []);
      expect(one.list([], names(5))).toBe(0);
      if (isConfirmed) one.removals.confirm();
      else for (const _ of [1, 2]) one.list([], []);
      expect(one.list([], ["n6"], { afterMs: 1 })).toBe(0);
    }
  });

  test("does not count kept names that a policy released and whose absence is proven", () => {
    const one = alone();
    for (const name of names(4)) one.retained.add(name);
    one.list(names(10), []);
    one.list([], names(4));
    one.retained.clear();
    one.removals.referencesChanged();
    for (const _ of [1, 2]) one.list([], []);
    expect(one.list([], ["n4"], { afterMs: 1 })).toBe(0);
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(0);
  });

  test.each([
    ["n0 due", 0, 0],
    ["n0 due", 1, 1],
    ["n0", 0, 1],
    ["n0", 1, 0],
  ])(
    "knows whether a name is due: %s is retained, %d ms before its deadline, %d held",
    (retained, ms, held) => {
      for (const isRestart of [false, true]) {
        const one = alone();
        one.targets.set("n0", names(5));
        one.retained.add(retained);
        one.deadlines.set("n0", 2 * INTERVAL + ms);
        if (isRestart) one.served.add("secret n0");
        one.list(isRestart ? [] : ["n0"], []);
        expect(one.list([], ["n0"])).toBe(held);
      }
    },
  );

  test("counts no names that are referenced but were never listed", () => {
    const { list } = methodsOf(alone());
    list(names(24), names(100, 24));
    expect(list([], names(5))).toBe(5);
  });

  test("holds every further name, until a user confirms", () => {
    const { one, list } = methodsOf(alone());
    list(names(10), []);
    expect(list([], names(5))).toBe(5);
    expect(list([], ["n5"], { afterMs: 10 * INTERVAL })).toBe(6);
    expect(list(["n0"], [])).toBe(5);
    one.removals.confirm();
    expect(one.removals.held).toBe(0);
    expect(list([], ["n6"])).toBe(0);
  });

  test("counts a name that was never listed only if a resource has its bytes", () => {
    expect(alone().list([], names(5))).toBe(0);
    const served = alone();
    for (const name of names(5)) served.served.add(`secret ${name}`);
    expect(served.list([], names(5))).toBe(5);
    expect(served.list([], names(5))).toBe(5);
  });

  test("neither holds nor counts names that no resource refers to any more", () => {
    const one = alone();
    one.list(names(10), []);
    one.list([], names(5));
    one.unreferenced.add("n0");
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(4);
    for (const name of names(5, 5)) one.unreferenced.add(name);
    one.removals.prune();
    one.unreferenced.clear();
    one.removals.confirm();
    expect(one.list([], names(5, 5))).toBe(0);
  });

  test("follows a policy that is edited while removals are held, and back", () => {
    const { one, list } = methodsOf(alone());
    one.retained.add("n0");
    list(names(10), []);
    expect(list([], names(6))).toBe(5);
    one.retained.delete("n0");
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(6);
    for (const name of names(6)) one.retained.add(name);
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(0);
    for (const _ of [1, 2, 3]) list([], []);
    one.retained.clear();
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(6);
  });

  test("holds names that disappeared together when a policy removes their keys later", () => {
    const { one, list } = methodsOf(alone());
    for (const name of names(6)) one.retained.add(name);
    list(names(12), []);
    expect(list([], names(6))).toBe(0);
    for (const _ of [1, 2, 3]) list([], []);
    expect(list(["new"], [])).toBe(0);
    one.retained.delete("n0");
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(1);
    one.retained.clear();
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(6);
  });

  test.each([
    [6, 12, 1],
    [3, 12, 0],
    [6, 24, 1],
    [6, 36, 0],
  ])(
    "counts what was kept before the first list: %d kept, %d listed, %d held after an edit",
    (kept, listed, held) => {
      const { one, list } = methodsOf(alone());
      for (const name of names(kept)) {
        one.retained.add(name);
        one.bytes.add(`secret ${name}`);
      }
      expect(list(names(listed, kept), names(kept))).toBe(0);
      expect(list([], [`n${kept}`])).toBe(0);
      one.retained.delete("n0");
      one.removals.referencesChanged();
      expect(one.removals.held).toBe(held);
    },
  );

  test.each([
    [5, 12, 1],
    [4, 12, 0],
    [5, 30, 0],
  ])(
    "counts what is missing with what a process saw before: %d missing, %d listed, %d held",
    (missing, listed, held) => {
      const one = alone();
      for (const name of names(missing)) {
        one.bytes.add(`secret ${name}`);
        one.retained.add(name);
      }
      one.served.add("secret n0");
      one.missing.add("n0");
      one.retained.delete("n0");
      expect(one.list(names(listed, missing), names(missing))).toBe(held);
    },
  );

  test("holds nothing whose bytes no target has when a policy changes", () => {
    const { one, list } = methodsOf(alone());
    for (const name of names(7)) one.retained.add(name);
    list(names(12), []);
    list([], names(7));
    one.bytes.delete("secret n0");
    one.retained.clear();
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(6);
    const few = alone();
    for (const name of names(5)) few.retained.add(name);
    few.list(names(12), []);
    few.list([], names(5));
    few.bytes.delete("secret n0");
    few.retained.delete("n1");
    few.removals.referencesChanged();
    expect(few.removals.held).toBe(0);
  });

  test("counts what the other connections of the vault keep when a policy changes", () => {
    const vault = new RemovalsVault();
    const [one, two] = [vault.connection(), vault.connection()];
    for (const each of [one, two]) {
      for (const name of names(3)) each.retained.add(name);
      each.list(names(6), [], { afterMs: 0 });
      each.list([], names(3), { afterMs: 0 });
    }
    one.retained.clear();
    one.removals.referencesChanged();
    expect([one.removals.held, two.removals.held]).toEqual([3, 0]);
  });

  test("counts names that resources keep no more as lost than before they were held", () => {
    const { one, list } = methodsOf(alone());
    list(names(12), []);
    expect(list([], names(5))).toBe(5);
    for (const name of names(5)) one.retained.add(name);
    one.removals.referencesChanged();
    for (const _ of [1, 2, 3]) list([], []);
    expect(list([], ["n5"])).toBe(0);
    one.retained.delete("n0");
    one.removals.referencesChanged();
    expect(one.removals.held).toBe(1);
  });

  test("holds no further name while resources keep the keys of all that are held", () => {
    const { one, list } = methodsOf(alone());
    list(names(100), []);
    expect(list([], names(21))).toBe(21);
    for (const name of names(21)) one.retained.add(name);
    one.removals.referencesChanged();
    expect(list(names(21), [])).toBe(0);
    expect(list([], ["n50"])).toBe(0);
  });

  test("counts the targets that resources feed now", () => {
    const one = alone();
    one.list(["a", "b"], []);
    one.list(["c"], []);
    one.targets.set("a", names(5));
    one.removals.referencesChanged();
    expect(one.list([], ["a"])).toBe(1);
  });
});

describe("the blast limit of a vault", () => {
  test("counts the names of all its connections, and holds them in each", () => {
    const vault = new RemovalsVault();
    const connections = ["a", "b", "c"].map((of) => ({ of, one: vault.connection() }));
    for (const { of, one } of connections) one.list(own(4, of), [], { afterMs: 0 });
    const held = connections.map(({ of, one }) => one.list([], own(4, of), { afterMs: 1_000 }));
    expect(held).toEqual([0, 4, 4]);
    expect(connections.map(({ one }) => [one.removals.held, one.heldByOthers])).toEqual([
      [4, 1],
      [4, 0],
      [4, 0],
    ]);
  });

  test.each([
    [20, 0],
    [19, 4],
  ])("compares eight lost names with all: %d others, %d held", (others, held) => {
    const vault = new RemovalsVault();
    const [one, two, rest] = [vault.connection(), vault.connection(), vault.connection()];
    one.list(own(10, "a"), []);
    two.list(own(10, "b"), [], { afterMs: 0 });
    rest.list(own(others, "c"), [], { afterMs: 0 });
    one.list([], own(4, "a"));
    expect(two.list([], own(4, "b"), { afterMs: 0 })).toBe(held);
  });

  test("does not replace that of each connection", () => {
    const vault = new RemovalsVault();
    const [one, rest] = [vault.connection(), vault.connection()];
    one.list(own(10, "a"), []);
    rest.list(own(100, "b"), [], { afterMs: 0 });
    rest.list([], ["b-n0"], { afterMs: 0 });
    expect(one.list([], own(5, "a"))).toBe(5);
    expect(rest.removals.held).toBe(0);
  });

  test("counts targets of all its connections", () => {
    const vault = new RemovalsVault();
    const [one, two] = [vault.connection(), vault.connection()];
    one.targets.set("ca", own(3, "a"));
    two.targets.set("ca", own(3, "b"));
    one.list(["ca"], []);
    two.list(["ca"], [], { afterMs: 0 });
    expect(one.list([], ["ca"])).toBe(0);
    expect(two.list([], ["ca"])).toBe(1);
    expect(one.removals.held).toBe(1);
  });

  test("does not count another vault, or a closed connection", () => {
    for (const isOpen of [true, false]) {
      const vault = new RemovalsVault();
      const one = vault.connection();
      const other = vault.connection(isOpen ? { url: "https://other.example.com" } : {});
      for (const each of [one, other]) each.list(names(4), [], { afterMs: 0 });
      expect(one.list([], names(4))).toBe(0);
      if (!isOpen) one.removals[Symbol.dispose]();
      expect(other.list([], names(4))).toBe(0);
    }
  });

  test("counts held names until they are confirmed", () => {
    const vault = new RemovalsVault();
    const [one, two] = [vault.connection(), vault.connection()];
    one.list(own(6, "a"), []);
    two.list(own(4, "b"), [], { afterMs: 0 });
    expect(one.list([], own(6, "a"))).toBe(6);
    expect(two.list([], ["b-n0"], { afterMs: 100 * INTERVAL })).toBe(1);
    two.removals.confirm();
    one.removals.confirm();
    expect(two.list([], ["b-n1"])).toBe(0);
  });

  test("still counts what a connection lost until all have listed", () => {
    const vault = new RemovalsVault();
    const [fast, slow] = [vault.connection(), vault.connection({ intervalMs: 1_000 * INTERVAL })];
    fast.list(own(4, "a"), []);
    slow.list(own(4, "b"), [], { afterMs: 0 });
    fast.list([], own(4, "a"));
    for (const _ of [1, 2, 3, 4]) fast.list([], []);
    expect(slow.list([], own(4, "b"), { afterMs: 0 })).toBe(4);
    expect(fast.removals.held).toBe(4);
  });
});
