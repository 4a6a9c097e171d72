import { describe, expect, test } from "vitest";
import { ACCOUNT } from "../../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";

type Listed = Partial<SecretRecord>;

const EVE = "eve@example.com";
const DBA = "dba@example.com";
const prod = { environment_type: "prod" };
const DELETE = { target: { whenMissing: "Delete" } };
const FIND: Record<string, unknown> = {
  data: undefined,
  dataFrom: [{ find: { name: { regexp: "^b" } } }],
};
const FIND_PROD: Record<string, unknown> = {
  data: undefined,
  dataFrom: [{ find: { metadata: prod } }],
};

const own = (name: string, more: Listed = {}): Listed => ({ name, owner: ACCOUNT, ...more });
const from = (owner: string, name: string, more: Listed = {}): Listed => ({
  name,
  owner,
  shared: true,
  version: 7,
  ...more,
});

/** The vault lists these secrets from now on, for this time in milliseconds. */
async function list(world: SimulatedWorld, listed: readonly Listed[], forMs = 0): Promise<string> {
  world.vault().lists(...listed);
  await world.settle(forMs);
  return world.outcome();
}

const keys = (world: SimulatedWorld): string[] => Object.keys(world.target()?.data ?? {}).sort();
const message = (world: SimulatedWorld): string => world.condition("Ready")?.message ?? "";

describe("a secret that is gone while a stranger shares another one of its name", () => {
  test("keeps its key, and the message names whose secret is missing", async () => {
    await using world = await SimulatedWorld.following([own("a"), own("b")], {
      one: "a",
      two: "b",
    });
    expect(await list(world, [own("a", { version: 2 }), from(EVE, "b")], 300_000)).toBe(
      "one=vault a@2 two=vault b@1, SourceMissing",
    );
    expect(message(world)).toContain(
      `b of ${ACCOUNT} is not in the list of ${ACCOUNT}; another one is shared by ${EVE}, whom neither`,
    );
  });

  test.each<[string, Record<string, unknown>, Listed, Listed]>([
    ["named", {}, {}, {}],
    ["found", FIND, {}, {}],
    ["found by metadata that the other one has", FIND_PROD, { metadata: prod }, { metadata: prod }],
    ["found by metadata that the other one lacks", FIND_PROD, { metadata: prod }, {}],
  ])("loses its key on proof with whenMissing: Delete: %s", async (_, spec, mine, others) => {
    const [a, b] = [own("ba", mine), own("bb", mine)];
    await using world = await SimulatedWorld.following(
      [a, b],
      { ba: "ba", bb: "bb" },
      { ...spec, ...DELETE },
    );
    const eve = from(EVE, "bb", others);
    expect(await list(world, [a, b, eve])).toBe("ba=vault ba@1 bb=vault bb@1, Synced");
    await list(world, [a, eve], 100_000);
    expect(keys(world)).toEqual(["ba", "bb"]);
    await world.replace();
    await world.settle(100_000);
    expect(keys(world)).toEqual(["ba", "bb"]);
    await world.settle(200_000);
    expect(keys(world)).toEqual(["ba"]);
  });

  test.each<[string, Record<string, unknown>, Listed, Listed]>([
    ["named", {}, {}, {}],
    ["found by metadata that the other one has", FIND_PROD, { metadata: prod }, { metadata: prod }],
    ["found by metadata that the other one lacks", FIND_PROD, { metadata: prod }, {}],
  ])("loses its key at its delete_time: %s", async (_, spec, mine, others) => {
    await using world = await SimulatedWorld.following([], { ba: "ba", bb: "bb" }, spec);
    const [a, eve] = [own("ba", mine), from(EVE, "bb", others)];
    const due = own("bb", { ...mine, deleteAt: world.clock.now() + 60_000 });
    expect(await list(world, [a, due, eve], 40_000)).toBe("ba=vault ba@1 bb=vault bb@1, Synced");
    await world.settle(21_000);
    expect(world.outcome()).toBe("ba=vault ba@1, SourceRemoved");
  });

  test("is reported as the stranger's when its key is gone, also after a restart", async () => {
    const data = { a: "a", b: "b" };
    await using world = await SimulatedWorld.following([own("a"), own("b")], data, DELETE);
    await list(world, [own("a"), from(EVE, "b")], 300_000);
    expect(world.outcome()).toBe("a=vault a@1, SourceMissing");
    expect(message(world)).toContain(`b is shared by ${EVE}`);
    const before = world.status();
    await world.replace();
    await world.settle(300_000);
    expect(world.status()).toEqual(before);
  });

  test("keeps its key if it is back in time, however often the other one comes and goes", async () => {
    const eve = from(EVE, "b");
    await using world = await SimulatedWorld.following(
      [own("a"), own("b")],
      { a: "a", b: "b" },
      DELETE,
    );
    for (let round = 0; round < 3; round += 1) {
      await list(world, [own("a"), eve], 60_000);
      await list(world, [own("a")], 50_000);
      await list(world, [own("a"), own("b"), eve], 60_000);
    }
    expect(world.outcome()).toBe("a=vault a@1 b=vault b@1, Synced");
  });

  test("loses its key although the other one comes and goes", async () => {
    await using world = await SimulatedWorld.following(
      [own("a"), own("b")],
      { a: "a", b: "b" },
      DELETE,
    );
    for (let round = 0; round < 4; round += 1) {
      await list(world, [own("a"), from(EVE, "b")], 60_000);
      await list(world, [own("a")], 60_000);
    }
    expect(keys(world)).toEqual(["a"]);
  });

  // Found by the simulation.
  test("keeps its key if the address of the vault changes with the trust in its owner", async () => {
    await using world = await SimulatedWorld.following([], { ba: "ba", bb: "bb" }, DELETE);
    world.connect("vault", { trustedOwners: [DBA] });
    await list(world, [own("ba"), from(DBA, "bb")]);
    world.vault("again").lists(own("ba"), from(DBA, "bb"));
    world.connect("again");
    world.follow({ ba: "ba", bb: "bb" }, { ...DELETE, connection: "again" });
    await world.settle(600_000);
    expect(keys(world)).toEqual(["ba", "bb"]);
  });

  // Found by the simulation.
  test("loses its key on proof if the target has bytes of another vault", async () => {
    const data = { a: "a", b: "b" };
    await using world = await SimulatedWorld.following([own("a"), own("b")], data, DELETE);
    world.vault("again").lists(own("a"), from(EVE, "b"));
    world.connect("again");
    world.follow(data, { ...DELETE, connection: "again" });
    await world.settle(60_000);
    expect(keys(world)).toEqual(["a", "b"]);
    await world.settle(300_000);
    expect(keys(world)).toEqual(["a"]);
  });

  test("keeps its key when its rule changes in anything but its name", async () => {
    await using world = await SimulatedWorld.following([own("ba"), own("bb")], {}, FIND);
    await list(world, [own("ba"), from(EVE, "bb")]);
    world.follow({}, { data: undefined, dataFrom: [{ find: { name: { regexp: "^b[ab]$" } } }] });
    await world.settle();
    expect(world.outcome()).toBe("ba=vault ba@1 bb=vault bb@1, SourceMissing");
  });
});

describe("the owner of a secret that is gone", () => {
  test("is known although the connection spells the address of its account differently", async () => {
    await using world = await SimulatedWorld.shop();
    world.connect("vault", { email: "Ops@Example.com" });
    world.follow({ a: "a", b: "b" }, DELETE);
    await list(world, [own("a"), own("b")]);
    expect(keys(world)).toEqual(["a", "b"]);
    await list(world, [own("a"), from(EVE, "b")], 300_000);
    expect(world.outcome()).toBe("a=vault a@1, SourceMissing");
  });

  // A status shows 64 items.
  const names = Array.from({ length: 100 }, (_, at) => `b${100 + at}`);
  const dbas = names.map((name) => from(DBA, name));

  test("is known although the status does not show it", async () => {
    await using world = await SimulatedWorld.shop();
    world.connect("vault", { trustedOwners: [DBA] });
    world.follow({}, { ...FIND, ...DELETE });
    await list(world, dbas);
    await list(world, [...dbas.slice(0, 99), from(EVE, "b199")], 300_000);
    expect(keys(world)).toEqual(names.slice(0, 99));
  });

  test("is not replaced by another trusted one although the status does not show it", async () => {
    await using world = await SimulatedWorld.shop();
    world.connect("vault", { trustedOwners: [DBA, EVE] });
    world.follow({}, FIND);
    await list(world, dbas);
    await list(world, [...dbas.slice(0, 99), from(EVE, "b199", { version: 8 })], 300_000);
    expect(world.outcome()).toMatch(/ b199=vault b199@7, AmbiguousName$/u);
  });
});

describe("a secret that lost the metadata of its rule", () => {
  test("loses its key although a stranger shares one with the metadata", async () => {
    const [a, b] = [own("a", { metadata: prod }), own("b", { metadata: prod })];
    await using world = await SimulatedWorld.following([a, b], {}, { ...FIND_PROD, ...DELETE });
    const eve = from(EVE, "b", { metadata: prod });
    await list(world, [a, b, eve]);
    await list(world, [a, own("b", { version: 2 }), eve], 60_000);
    expect(world.outcome()).toBe("a=vault a@1 b=vault b@1, SourceMissing");
    expect(message(world)).toContain("b no longer has the metadata that dataFrom[0] requests");
    // The proof continues under a rule that is edited.
    world.follow(
      {},
      {
        data: undefined,
        dataFrom: [{ find: { metadata: prod, name: { regexp: "^[ab]" } } }],
        ...DELETE,
      },
    );
    await world.settle();
    expect(keys(world)).toEqual(["a", "b"]);
    await world.settle(180_000);
    expect(world.outcome()).toBe("a=vault a@1, Synced");
  });
});

describe("a reference that names the owner", () => {
  const data = { one: { key: "s", owner: DBA }, two: "t" };

  test("loses its key when that owner's secret is gone while others have one of the name", async () => {
    await using world = await SimulatedWorld.following(
      [from(DBA, "s"), own("s"), own("t")],
      data,
      DELETE,
    );
    expect(world.outcome()).toBe("one=vault s@7 two=vault t@1, Synced");
    await list(world, [own("s"), from(EVE, "s"), own("t")], 100_000);
    expect(keys(world)).toEqual(["one", "two"]);
    expect(message(world)).toContain(`s of ${DBA} is not in the list of ${ACCOUNT}`);
    await world.settle(100_000);
    expect(world.outcome()).toBe("two=vault t@1, SourceMissing");
  });

  test("keeps its key if the secret is back in time", async () => {
    await using world = await SimulatedWorld.following(
      [from(DBA, "s"), own("s"), own("t")],
      data,
      DELETE,
    );
    for (let round = 0; round < 4; round += 1) {
      await list(world, [own("s"), own("t")], 100_000);
      await list(world, [from(DBA, "s"), own("s"), own("t")], 60_000);
    }
    expect(world.outcome()).toBe("one=vault s@7 two=vault t@1, Synced");
  });
});

describe("a secret whose owner is not trusted any more", () => {
  test.each<[string, Record<string, unknown>]>([
    ["named", {}],
    ["found", FIND],
  ])("keeps its key while a stranger shares its name: %s", async (_, spec) => {
    await using world = await SimulatedWorld.following(
      [],
      { ba: "ba", bb: "bb" },
      { ...spec, ...DELETE },
    );
    world.connect("vault", { trustedOwners: [DBA] });
    expect(await list(world, [own("ba"), from(DBA, "bb")])).toBe(
      "ba=vault ba@1 bb=vault bb@7, Synced",
    );
    world.connect("vault");
    await list(world, [own("ba"), from(DBA, "bb"), from(EVE, "bb")], 600_000);
    expect(world.outcome()).toBe("ba=vault ba@1 bb=vault bb@7, SourceMissing");
  });
});

describe("many secrets that are gone together while a stranger shares others of their names", () => {
  const names = Array.from({ length: 20 }, (_, at) => `b${10 + at}`);

  test("are held, also after a restart", async () => {
    const mine = names.map((name) => own(name));
    const eves = names.map((name) => from(EVE, name));
    await using world = await SimulatedWorld.following(
      [...mine, ...eves],
      {},
      { ...FIND, ...DELETE },
    );
    await list(world, eves, 300_000);
    expect(keys(world)).toEqual(names);
    expect(message(world)).toContain("too many names disappeared together");
    await world.replace();
    await world.settle(300_000);
    expect(keys(world)).toEqual(names);
  });

  test("are held if they were gone while no operator ran", async () => {
    const mine = names.map((name) => own(name));
    const eves = names.map((name) => from(EVE, name));
    await using world = await SimulatedWorld.following(mine, {}, { ...FIND, ...DELETE });
    await world.stop();
    world.vault().lists(...eves);
    await world.replace();
    await world.settle(300_000);
    expect(keys(world)).toEqual(names);
    expect(message(world)).toContain("too many names disappeared together");
  });

  test("are not held because the stranger's disappear", async () => {
    const mine = names.map((name) => own(name));
    const eves = names.map((name) => from(EVE, name));
    await using world = await SimulatedWorld.following(
      [...mine, ...eves],
      {},
      { ...FIND, ...DELETE },
    );
    await list(world, mine.slice(1), 300_000);
    expect(keys(world)).toEqual(names.slice(1));
  });
});

// Found by the simulation: the deadline in the status, of a secret that no target had bytes of, made
// the next reconcile name an owner, and the one after it did not.
describe("the source of a target that was never created", () => {
  const HOUR = 3_600_000;
  const PINNED = { two: { key: "b", version: 9 } };

  /** The vault lists these secrets, and the connection trusts `DBA`. */
  async function waiting(listed: (deadline: number) => Listed): Promise<SimulatedWorld> {
    const world = await SimulatedWorld.shop();
    world.connect("vault", { trustedOwners: [DBA] });
    world.vault().lists(listed(world.clock.now() + 2 * HOUR));
    world.follow(PINNED);
    await world.settle();
    expect(world.outcome()).toBe("absent, VersionNotFound");
    return world;
  }

  /** Returns the messages of the condition, now and an hour later. */
  async function messages(world: SimulatedWorld): Promise<string[]> {
    await world.settle();
    const now = message(world);
    await world.settle(HOUR);
    return [...new Set([now, message(world)])];
  }

  test("is reported as not trusted when the connection does not trust it any more", async () => {
    await using world = await waiting((deleteAt) => from(DBA, "b", { deleteAt }));
    world.connect("vault");
    expect(await messages(world)).toEqual([
      expect.stringContaining(`b is shared by ${DBA}, whom neither remoteRef.owner nor`),
    ]);
  });

  test("is reported as a stranger's when the own one is gone before its deadline", async () => {
    await using world = await waiting((deleteAt) => own("b", { deleteAt }));
    world.vault().lists(from(EVE, "b"));
    expect(await messages(world)).toEqual([
      expect.stringContaining(`b is shared by ${EVE}, whom neither remoteRef.owner nor`),
    ]);
  });

  test("is reported as a stranger's when the connection lists another vault", async () => {
    await using world = await waiting((deleteAt) => own("b", { deleteAt }));
    world.vault("other").lists(from(EVE, "b"));
    world.connect("vault", { url: "https://other.example.com" });
    expect(await messages(world)).toEqual([
      expect.stringContaining(`b is shared by ${EVE}, whom neither remoteRef.owner nor`),
    ]);
  });

  test("is removed at its deadline, although a stranger shares one of its name", async () => {
    await using world = await waiting((deleteAt) => from(DBA, "b", { deleteAt }));
    await world.settle(2 * HOUR);
    world.vault().lists(from(EVE, "b"));
    expect(await messages(world)).toEqual([
      expect.stringContaining("b was removed by the vault at its delete_time"),
    ]);
  });
});
