import { describe, expect, test } from "vitest";
import { SimulatedWorld } from "../../../../test/lab/simulated/simulated-world.ts";
import { SyncScene } from "../../../../test/lab/kube/sync-scene.ts";
import { OWNER_ANNOTATION } from "../../api/names.ts";
import { SECRETS } from "../../kube/resource.ts";

const SECOND = 1_000;
const KEY = "VaultSecret/shop/db";

/** Starts an operator that has synced these keys. */
async function running(
  data: Readonly<Record<string, string>> = { password: "db" },
): Promise<SimulatedWorld> {
  const names = [...new Set(Object.values(data))];
  const scene = await SimulatedWorld.following(
    names.map((name) => ({ name })),
    data,
  );
  expect(scene.condition("Ready")?.reason).toBe("Synced");
  return scene;
}

/** Counts the deletions by the operator. */
function countsDeletions({ api }: SyncScene): { count: number } {
  const deletions = { count: 0 };
  const original = api.delete.bind(api);
  api.delete = (...request) => {
    deletions.count += 1;
    return original(...request);
  };
  return deletions;
}

describe("a target that is deleted while the watch still shows it", () => {
  test("is recreated when reading it finds nothing", async () => {
    const scene = await SyncScene.synced();
    scene.restart();
    scene.annotate({ "vaultsync.dev/versions": "{}" });
    scene.beforeNextRead(() => scene.api.objects.delete("secrets/shop/db"));
    expect(await scene.reconcileOnce()).toEqual({ outcome: "done" });
    expect(scene.target?.data).toEqual({ password: Buffer.from("vault db@1").toString("base64") });
  });

  test("is deleted once when its source was removed", async () => {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db", deleteAt: scene.clock.now() + SECOND });
    await scene.reconcile();
    const deletions = countsDeletions(scene);
    await scene.clock.advance(SECOND);
    scene.vault.lists();
    await scene.reconcileOnce();
    await scene.reconcileKey(KEY);
    expect(scene.target).toBeUndefined();
    expect(deletions.count).toBe(1);
    expect(scene.events).toEqual(["TargetCreated", "TargetRemoved", "SourceRemoved"]);
    expect(scene.status.syncedAt).toBe(new Date(scene.clock.now()).toISOString());
  });

  test("counts as deleted if the request to delete it finds nothing", async () => {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db", deleteAt: scene.clock.now() + SECOND });
    await scene.reconcile();
    await scene.clock.advance(SECOND);
    scene.vault.lists();
    const { api } = scene;
    const remove = api.delete.bind(api);
    api.delete = (...request) => {
      api.objects.delete("secrets/shop/db");
      return remove(...request);
    };
    expect(await scene.reconcile()).toBe("absent, SourceRemoved");
  });
});

describe("a contested target", () => {
  test("stays contested for the delay of its next repair, and is in sync after it", async () => {
    const scene = await SyncScene.synced();
    for (const value of ["one", "two", "three"]) {
      await scene.clock.advance(5 * SECOND);
      scene.edit(value);
      await scene.reconcile();
    }
    expect(await scene.reconcile()).toBe("vault db@1, TargetContested");
    expect(await scene.reconcileOnce()).toMatchObject({
      outcome: "done",
      wait: { for: "target", atMostMs: 10 * SECOND },
    });
    expect(scene.status.items).toMatchObject([{ version: 1, latest: 1 }]);
    await scene.clock.advance(10 * SECOND);
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
  });

  test("is not one that the operator itself deletes and creates when the vault says so", async () => {
    const scene = await SyncScene.synced();
    for (let round = 0; round < 4; round += 1) {
      scene.vault.lists({ name: "db", deleteAt: scene.clock.now() + SECOND });
      expect(await scene.reconcile()).toBe("vault db@1, Synced");
      await scene.clock.advance(SECOND);
      scene.vault.lists();
      expect(await scene.reconcile()).toBe("absent, SourceRemoved");
    }
  });
});

describe("the content of a target", () => {
  test("stays if it was edited while its source is missing", async () => {
    const scene = await SyncScene.synced();
    scene.vault.lists();
    scene.edit("edited");
    expect(await scene.reconcile()).toBe("edited, SourceMissing");
    expect(await scene.reconcileOnce()).toEqual({ outcome: "done", notReady: true });
  });

  test("is rejected as a whole if all keys together are too large", async () => {
    await using scene = await running({ one: "a", other: "b" });
    scene.vault().expose = (_, version) => ({ value: "x".repeat(version === 1 ? 1 : 600_000) });
    scene.vault().lists({ name: "a", version: 2 }, { name: "b", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("one=vault a@1 other=vault b@1, TooLarge");
    expect(scene.condition("Ready")?.message).toContain("1200000 bytes");
  });

  test("is dated by its last change: a removed key is one, a version with the same bytes is not", async () => {
    await using scene = await running({ one: "a", other: "b" });
    const syncedAt = (): string | undefined => scene.status().syncedAt;
    const first = syncedAt();
    scene.vault().expose = (name) => ({ value: `vault ${name}@1` });
    scene.vault().lists({ name: "a", version: 2 }, { name: "b" });
    await scene.settle();
    expect(scene.status().items?.[0]?.version).toBe(2);
    expect(syncedAt()).toEqual(first);
    scene.follow({ one: "a" });
    await scene.settle();
    expect(syncedAt()).not.toBe(first);
  });

  test("is patched without reading it again after it was read once", async () => {
    await using scene = await running();
    await scene.replace();
    scene.server.patch(
      SECRETS,
      { namespace: "shop", name: "db" },
      { metadata: { labels: { team: "shop" } } },
    );
    scene.takeRequests();
    await scene.settle();
    expect(scene.takeRequests()).toEqual(["get secrets db"]);
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    expect(scene.takeRequests()).toEqual(["patch secrets db", "update vaultsecrets db"]);
  });

  test("is replaced as a whole if a new version comes with a spec that makes it immutable", async () => {
    await using scene = await running();
    await scene.stop();
    scene.vault().lists({ name: "db", version: 2 });
    scene.follow({ password: "db" }, { target: { immutable: true } });
    await scene.replace();
    expect(scene.outcome()).toBe("password=vault db@2, Synced");
    expect(scene.target()?.immutable).toBe(true);
  });
});

describe("a target that admission changes", () => {
  test.each<[string, object]>([
    ["the owner", { annotations: { [OWNER_ANNOTATION]: "VaultSecret/another" } }],
    ["the owner reference", { ownerReferences: [] }],
  ])("is rejected if it loses %s", async (_, metadata) => {
    await using scene = await SimulatedWorld.shop();
    scene.server.webhooks.push((object) =>
      object.kind === "Secret"
        ? { ...object, metadata: { ...object.metadata, ...metadata } }
        : object,
    );
    scene.vault().lists({ name: "db" });
    scene.follow({ password: "db" });
    await scene.settle();
    expect(scene.condition("Ready")?.reason).toBe("TargetRejected");
  });

  test("is rejected if it goes back to its earlier content and annotations", async () => {
    await using scene = await running();
    scene.server.webhooks.push((object, before) =>
      object.kind === "Secret" && before !== undefined
        ? { ...before, metadata: { ...before.metadata } }
        : object,
    );
    scene.vault().lists({ name: "db", version: 2 });
    await scene.settle();
    expect(scene.outcome()).toBe("password=vault db@1, TargetRejected");
  });
});
