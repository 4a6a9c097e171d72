import { describe, expect, test } from "vitest";
import { ACCOUNT } from "../../lab/simulated/simulated-vault.ts";
import { SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import type { SecretRecord } from "../../../src/operator/vault-client/connection.ts";

type Listed = Partial<SecretRecord>;

const EVE = "eve@example.com";
const DBA = "dba@example.com";
const names = Array.from({ length: 20 }, (_, at) => `b${10 + at}`);
const FIND: Record<string, unknown> = {
  data: undefined,
  dataFrom: [{ find: { name: { regexp: "^b" } } }],
  target: { whenMissing: "Delete" },
};

const own = (name: string, more: Listed = {}): Listed => ({ name, owner: ACCOUNT, ...more });
const of = (owner: string, name: string, more: Listed = {}): Listed => ({
  name,
  owner,
  shared: true,
  ...more,
});
const keys = (world: SimulatedWorld): string[] => Object.keys(world.target()?.data ?? {}).sort();

/** Returns the number of names that a user has to confirm, as the connection says. */
const held = (world: SimulatedWorld): string | undefined =>
  /confirm-removals=(\d+)/u.exec(world.connectionCondition("RemovalsHeld")?.message ?? "")?.[1];

async function list(world: SimulatedWorld, listed: readonly Listed[], forMs = 1_000) {
  world.vault().lists(...listed);
  await world.settle(forMs);
}

/** Each of these is the secret of one key of the target. */
const keyed = (secrets: readonly string[], owner?: string) =>
  Object.fromEntries(
    secrets.map((key) => [key, owner === undefined ? key : { key, owner }] as const),
  );

describe("names that are held, and that a stranger begins to share", () => {
  test.each([1, 3, 20])("stay held: %i of them", async (count) => {
    const mine = names.map((name) => own(name));
    await using world = await SimulatedWorld.following([own("a"), ...mine], {}, FIND);
    await list(world, [own("a")]);
    expect(held(world)).toBe("20");
    const eves = names.slice(0, count).map((name) => of(EVE, name));
    await list(world, [own("a"), ...eves], 300_000);
    expect(keys(world)).toEqual(names);
    expect(held(world)).toBe("20");
    await list(world, [own("a"), ...eves, ...mine]);
    expect(held(world)).toBe(undefined);
  });

  test.each([false, true])("stay held after a restart without their metadata: %s", async (eve) => {
    const metadata = { environment_type: "prod" };
    const found = names.map((name) => own(name, { metadata }));
    const eves = eve ? names.map((name) => of(EVE, name, { metadata })) : [];
    const spec = { ...FIND, dataFrom: [{ find: { metadata } }] };
    await using world = await SimulatedWorld.following([...found, ...eves], {}, spec);
    const lost = names.map((name) => own(name));
    await list(world, [...lost, ...eves], 10_000);
    expect(held(world)).toBe("20");
    await list(world, [...lost.slice(0, 4), ...found.slice(4), ...eves], 10_000);
    expect(held(world)).toBe("4");
    await world.replace();
    await world.settle(300_000);
    expect(keys(world)).toEqual(names);
    expect(held(world)).toBe("4");
  });

  test("stay held if that happens while no operator runs", async () => {
    const [gone, left] = [names.slice(0, 4), names.slice(4).map((name) => own(name))];
    await using world = await SimulatedWorld.following(
      [own("a"), ...names.map((name) => own(name))],
      {},
      FIND,
    );
    await list(world, [own("a")]);
    await list(world, [own("a"), ...left]);
    expect(held(world)).toBe("4");
    await world.stop();
    world.vault().lists(own("a"), ...left, ...gone.map((name) => of(EVE, name)));
    await world.replace();
    await world.settle(300_000);
    expect(keys(world)).toEqual(names);
    expect(held(world)).toBe("4");
  });

  test("lose their keys on the proof that began before, if they are too few", async () => {
    await using world = await SimulatedWorld.following(
      names.map((name) => own(name)),
      {},
      FIND,
    );
    const left = names.slice(1).map((name) => own(name));
    await list(world, left, 100_000);
    await list(world, [...left, of(EVE, "b10")], 60_000);
    expect(keys(world)).toEqual(names.slice(1));
  });
});

describe("deadlines that pass while no operator runs, and strangers share the names", () => {
  test.each<[string, string, (world: SimulatedWorld) => void]>([
    ["one resource", ACCOUNT, (world) => world.follow(keyed(names))],
    ["one resource that names the owner", DBA, (world) => world.follow(keyed(names, DBA))],
    [
      "many resources",
      ACCOUNT,
      (world) => {
        for (const name of names) world.follow({ [name]: name }, { name });
      },
    ],
  ])("are held before the first key is removed: %s", async (_, owner, follow) => {
    await using world = await SimulatedWorld.shop();
    const deleteAt = world.clock.now() + 60_000;
    world.vault().lists(...names.map((name) => of(owner, name, { deleteAt })));
    follow(world);
    await world.settle();
    await world.stop();
    await world.clock.advance(70_000);
    world.vault().lists(...names.map((name) => of(EVE, name)));
    await world.replace();
    await world.settle(300_000);
    const left = names.map((name) =>
      Object.keys((world.target(name) ?? world.target())?.data ?? {}),
    );
    expect(new Set(left.flat())).toEqual(new Set(names));
    expect(held(world)).toBe("20");
  });
});

describe("a list without owners", () => {
  test.each<[string, object, Parameters<SimulatedWorld["follow"]>]>([
    ["of a trusted owner", { trustedOwners: [DBA] }, [keyed(["ba", "bb"])]],
    ["of a trusted owner, found", { trustedOwners: [DBA] }, [{}, FIND]],
    ["whose owner the spec names", {}, [{ ...keyed(["ba"]), ...keyed(["bb"], DBA) }, {}]],
  ])("is no proof that a secret is gone: %s", async (_, connection, [data, spec]) => {
    await using world = await SimulatedWorld.shop();
    world.connect("vault", connection);
    world.vault().lists(own("ba"), of(DBA, "bb"));
    world.follow(data, { target: FIND["target"], ...spec });
    await world.settle();
    expect(world.outcome()).toBe("ba=vault ba@1 bb=vault bb@1, Synced");
    world.vault().network = {
      respond: ({ operation }, response) =>
        Promise.resolve(operation === "list_no_dup" ? withoutOwners(response) : response),
    };
    await list(world, [own("ba"), of(DBA, "bb", { version: 2 })], 600_000);
    expect(keys(world)).toEqual(["ba", "bb"]);
  });
});

function withoutOwners<T extends { readonly status: number; readonly body: Uint8Array }>(
  response: T,
): T {
  if (response.status !== 200) return response;
  const text = Buffer.from(response.body).toString();
  const body = JSON.stringify(
    JSON.parse(text, (field, value: unknown) => (field === "owner" ? undefined : value)),
  );
  return { ...response, body: Buffer.from(body) };
}
