import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";
import { SyncScene } from "../../../../test/lab/kube/sync-scene.ts";
import { noRemovals } from "../../../../test/lab/vault/open-connection.ts";
import { MAX_STATUS_ITEMS } from "../../api/status.ts";

const MINUTE = 60_000;
const dba = { name: "db", owner: "dba@example.com", shared: true };
const eve = { name: "db", owner: "eve@example.com", shared: true };

/** Starts an operator that has synced what `dba` shares. The vault removes it in a minute. */
async function sharedUntil(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.shop();
  scene.vault().lists({ ...dba, deleteAt: scene.clock.now() + MINUTE });
  scene.follow({ password: { key: "db", owner: dba.owner } });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, Synced");
  return scene;
}

/** Starts an operator whose target has version 5 of `other`, and whose spec names `db` now. */
async function awaitingDb(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.following([{ name: "other", version: 5 }], {
    password: "other",
  });
  scene.follow({ password: "db" });
  await scene.settle();
  await scene.replace();
  expect(scene.outcome()).toBe("password=vault other@5, SourceMissing");
  return scene;
}

describe("the deadline of a source", () => {
  test("removes its key only, next to a source that is missing without one", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.vault().lists({ name: "a", deleteAt: scene.clock.now() + MINUTE }, { name: "b" });
    scene.follow({ one: "a", other: "b" });
    await scene.settle();
    await scene.settle(MINUTE);
    scene.vault().lists();
    await scene.settle();
    expect(scene.outcome()).toBe("other=vault b@1, SourceMissing");
  });

  test("stays the reason after the target of a named owner was deleted, also after a restart", async () => {
    await using scene = await sharedUntil();
    await scene.settle(MINUTE);
    scene.vault().lists();
    await scene.settle();
    expect(scene.outcome()).toBe("absent, SourceRemoved");
    await scene.replace();
    expect(scene.outcome()).toBe("absent, SourceRemoved");
  });

  test("says nothing about the source of another owner that the spec names after a restart", async () => {
    await using scene = await sharedUntil();
    await scene.stop();
    await scene.settle(MINUTE);
    scene.follow({ password: { key: "db", owner: eve.owner } });
    await scene.replace();
    expect(scene.outcome()).toBe("password=vault db@1, SourceMissing");
  });

  test("is known for items that the status omits", async () => {
    await using scene = await SimulatedWorld.shop();
    const names = Array.from({ length: MAX_STATUS_ITEMS + 1 }, (_, n) => `db-${n}`);
    const last = `db-${MAX_STATUS_ITEMS}`;
    const deleteAt = scene.clock.now() + MINUTE;
    scene.vault().lists(...names.map((name) => (name === last ? { name, deleteAt } : { name })));
    scene.follow(Object.fromEntries(names.map((name) => [name, name])));
    await scene.settle();
    expect(scene.status().itemsOmitted).toBe(1);
    await scene.settle(MINUTE);
    scene.vault().lists(...names.slice(0, -1).map((name) => ({ name })));
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("SourceRemoved");
    expect(Object.keys(scene.target()?.data ?? {})).toHaveLength(MAX_STATUS_ITEMS);
  });
});

// Another user could have removed what the target keeps, by sharing a secret of its name that ends
// soon.
test("the deadline of another owner's secret does not remove what the target has", async () => {
  await using scene = await SimulatedWorld.shop();
  scene.connect("vault", { receive: "Anyone" });
  scene.vault().lists(dba);
  scene.follow({ password: "db" });
  await scene.settle();
  scene.vault().lists({ ...eve, deleteAt: scene.clock.now() + MINUTE });
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, AmbiguousName");
  expect(scene.status().items).toMatchObject([{ secretKey: "password", version: 1 }]);
  expect(scene.status().items?.[0]).not.toHaveProperty("deleteAt");
  await scene.settle(MINUTE);
  scene.vault().lists();
  await scene.settle();
  expect(scene.outcome()).toBe("password=vault db@1, SourceMissing");
});

describe("what was served last", () => {
  test("limits the versions of its own vault only, also if the target was deleted", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.connect("other");
    scene.vault("other").lists({ name: "db" });
    scene.vault().lists({ name: "db", version: 5 });
    scene.follow({ password: "db" });
    await scene.settle();
    await scene.stop();
    scene.deleteTarget();
    scene.follow({ password: "db" }, { connection: "other" });
    await scene.replace();
    expect(scene.outcome()).toBe("password=other db@1, Synced");
  });

  test("is not replaced by what another user shares under the name of a deleted own secret", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.connect("vault", { receive: "Anyone" });
    scene.vault().lists({ name: "db" });
    scene.follow({ password: "db" });
    await scene.settle();
    await scene.stop();
    scene.deleteTarget();
    scene.vault().lists(eve);
    await scene.replace();
    expect(scene.outcome()).toBe("absent, AmbiguousName");
  });

  test("is not replaced by another user's secret after a change to another vault and back", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.connect("vault", { receive: "Anyone" });
    scene.connect("other");
    scene.vault("other").lists();
    scene.vault().lists({ name: "db" });
    for (const connection of ["vault", "other"]) {
      scene.follow({ password: "db" }, { connection });
      await scene.settle();
    }
    expect(scene.status().items).toEqual([{ secretKey: "password", key: "db", otherVault: true }]);
    scene.vault().lists(eve);
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, AmbiguousName");
  });

  test("does not keep the spec from naming a secret that another user shares", async () => {
    await using scene = await SimulatedWorld.shop();
    scene.connect("vault", { receive: "Anyone" });
    scene.vault().lists({ name: "own" }, dba);
    scene.follow({ password: "own" });
    await scene.settle();
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, Synced");
  });

  describe("of another source, while the requested one is missing", () => {
    test("is not shown as a version of the requested one, which may be lower", async () => {
      await using scene = await awaitingDb();
      expect(scene.status().items).toEqual([{ secretKey: "password", key: "db" }]);
      scene.deleteTarget();
      await scene.settle();
      scene.vault().lists({ name: "db" });
      await scene.settle();
      expect(scene.outcome()).toBe("password=vault db@1, Synced");
    });

    test("does not make the requested one ambiguous when another user shares it", async () => {
      await using scene = await awaitingDb();
      scene.connect("vault", { receive: "Anyone" });
      scene.vault().lists(dba);
      await scene.settle();
      expect(scene.outcome()).toBe("password=vault db@1, Synced");
    });
  });
});

test("a missing source keeps its target while removals are held, also if its deletion is proven", async () => {
  const scene = new SyncScene();
  const list = (held: number, ...secrets: { name: string }[]): void =>
    scene
      .connect("vault", "*", { removals: { ...noRemovals, held, untilProven: () => 0 } })
      .lists(...secrets);
  scene.follow("vault", { password: "db" }, { whenMissing: "Delete" });
  list(0, { name: "db" });
  await scene.reconcile();
  list(1);
  expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
  list(0);
  expect(await scene.reconcile()).toBe("absent, SourceMissing");
});

// A former leader whose list was outdated removed a key that its successor had written.
test("a missing source keeps its target while the list is outdated, also with proof", async () => {
  const scene = await SyncScene.synced();
  scene.follow("vault", { password: "db" }, { whenMissing: "Delete" });
  const removals = { ...noRemovals, untilProven: () => 0 };
  scene
    .connect("vault", "*", {
      removals,
      stale: { since: scene.clock.now(), reason: "VaultUnreachable" },
    })
    .lists({ name: "other" });
  expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
  scene.connect("vault", "*", { removals }).lists({ name: "other" });
  expect(await scene.reconcile()).toBe("absent, SourceMissing");
});
