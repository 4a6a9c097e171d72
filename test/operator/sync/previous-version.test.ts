import { describe, expect, test } from "vitest";
import { type Followed, SimulatedWorld } from "../../lab/simulated/simulated-world.ts";
import {
  ACCEPT_ANNOTATION,
  APPROVE_ANNOTATION,
  HOLD_ANNOTATION,
} from "../../../src/operator/api/names.ts";

const keys = { new: "db", old: { key: "db", version: "previous" } } as const;
/** Without the earlier version, its key is absent. */
const isOptional = {
  data: [
    { secretKey: "new", remoteRef: { key: "db" } },
    { secretKey: "old", remoteRef: { key: "db", version: "previous" }, optional: true },
  ],
};

const at = (version: number) => ({ name: "db", version });
const following = (version: number, spec: Followed = {}): Promise<SimulatedWorld> =>
  SimulatedWorld.following([at(version)], keys, spec);

async function write(world: SimulatedWorld, version: number, forMs = 5_000): Promise<void> {
  world.vault().lists(at(version));
  await world.settle(forMs);
}

describe("a key with the previous version", () => {
  test("follows the other key in the same write, and survives a restart without reads", async () => {
    await using world = await following(2);
    expect(world.outcome()).toBe("new=vault db@2 old=vault db@1, Synced");
    world.takeRequests();
    await write(world, 3);
    expect(world.outcome()).toBe("new=vault db@3 old=vault db@2, Synced");
    expect(world.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
    expect(world.condition("UpdateAvailable")).toBeUndefined();
    world.vault().reads.length = 0;
    await world.replace();
    expect(world.vault().reads).toEqual([]);
    expect(world.outcome()).toBe("new=vault db@3 old=vault db@2, Synced");
  });

  test("skips versions as the other key does", async () => {
    await using world = await following(2);
    await write(world, 7);
    expect(world.outcome()).toBe("new=vault db@7 old=vault db@6, Synced");
  });

  test("has none before the first version: the resource is not ready, or the key is absent", async () => {
    await using world = await following(1);
    expect(world.outcome()).toBe("absent, VersionNotFound");
    expect(world.condition("Ready")?.message).toBe(
      "db has no version before 1: it will have one when the secret changes. Set optional: true to go without it until then",
    );
    await write(world, 2);
    expect(world.outcome()).toBe("new=vault db@2 old=vault db@1, Synced");

    await using optional = await following(1, isOptional);
    expect(optional.outcome()).toBe("new=vault db@1, Synced");
    await write(optional, 2);
    expect(optional.outcome()).toBe("new=vault db@2 old=vault db@1, Synced");
  });

  test("goes back with the other key, and forth again", async () => {
    await using world = await following(5);
    world.annotate({ [HOLD_ANNOTATION]: JSON.stringify({ versions: { new: 3 } }) });
    await world.settle();
    expect(world.outcome()).toBe("new=vault db@3 old=vault db@2, Synced");
    world.annotate({ [HOLD_ANNOTATION]: null });
    await world.settle();
    expect(world.outcome()).toBe("new=vault db@5 old=vault db@4, Synced");
  });

  test("waits for an approval together with the other key", async () => {
    await using world = await following(2, { updates: { approval: "Required" } });
    await write(world, 3);
    expect(world.outcome()).toBe("new=vault db@2 old=vault db@1, Synced");
    world.annotate({ [APPROVE_ANNOTATION]: world.status().approvalDigest ?? "" });
    await world.settle();
    expect(world.outcome()).toBe("new=vault db@3 old=vault db@2, Synced");
  });

  test("stays while the vault does not serve one of the two versions", async () => {
    await using world = await following(2);
    world.vault().unreadable.add("db");
    await write(world, 3);
    expect(world.outcome()).toMatch(/^new=vault db@2 old=vault db@1, /u);
    world.vault().unreadable.clear();
    await world.settle(60_000);
    expect(world.outcome()).toBe("new=vault db@3 old=vault db@2, Synced");
  });

  test("stays while the version goes back, until a user accepts that", async () => {
    await using world = await following(5, isOptional);
    await write(world, 1);
    expect(world.outcome()).toBe("new=vault db@5 old=vault db@4, VersionRegressed");
    world.annotate({ [ACCEPT_ANNOTATION]: "db@1" });
    await world.settle();
    expect(world.outcome()).toBe("new=vault db@1, Synced");
  });

  test("stays while the first version cannot be read that the other key is to follow", async () => {
    await using world = await following(5, isOptional);
    world.vault().unreadable.add("db");
    world.annotate({ [ACCEPT_ANNOTATION]: "db@1" });
    await write(world, 1);
    expect(world.outcome()).toMatch(/^new=vault db@5 old=vault db@4, /u);
    world.vault().unreadable.clear();
    await world.settle(60_000);
    expect(world.outcome()).toBe("new=vault db@1, Synced");
  });

  test("is not in sync with bytes of an earlier spec while another vault waits for an approval", async () => {
    await using world = await following(2, { connection: "one" });
    world.connect("one");
    world.vault("one").lists(at(2));
    await world.settle(5_000);
    expect(world.outcome()).toBe("new=one db@2 old=one db@1, Synced");

    // The entry of the new spec has one version there.
    world.connect("one", { url: "https://two.example.com" });
    world.vault("two").lists({ name: "app", version: 1 });
    world.follow(
      { new: "app", old: { key: "app", version: "previous" } },
      { connection: "one", updates: { approval: "Required" } },
    );
    await world.settle(5_000);
    expect(world.outcome()).toBe("new=two app@1 old=one db@1, VersionNotFound");

    world.connect("one");
    world.vault("one").lists({ name: "app", version: 1 });
    await world.settle(5_000);
    expect(world.outcome()).toBe("new=two app@1 old=one db@1, VersionNotFound");
    expect(world.condition("UpdateAvailable")?.reason).toBe("AwaitingApproval");
    expect(world.condition("Ready")?.message).toBe(
      "app has no version before the bytes of another vault or owner in the target: it will have one when the condition UpdateAvailable ends",
    );
  });

  test("stays when the secret disappears", async () => {
    await using world = await following(3, isOptional);
    world.vault().lists({ name: "other" });
    await world.settle(5_000);
    expect(world.outcome()).toMatch(/^new=vault db@3 old=vault db@2, /u);
  });
});
