import { findCondition } from "../../api/conditions.ts";
import { describe, expect, test } from "vitest";
import { SyncScene } from "../../../../test/lab/kube/sync-scene.ts";

describe("SyncReconciler after an edit of the target's annotations", () => {
  test("rewrites a target that claims the current version and has the bytes of an earlier one", async () => {
    const scene = await SyncScene.synced();
    scene.vault.lists({ name: "db", version: 2 });
    scene.annotate({ "vaultsync.dev/versions": '{"password":2}' });
    expect(await scene.reconcile()).toBe("vault db@2, Synced");
  });

  test("reverts a version that is higher than that of the vault, and follows later ones", async () => {
    const scene = await SyncScene.synced();
    const written = scene.target?.metadata.annotations;
    scene.annotate({ "vaultsync.dev/versions": '{"password":99}' });
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
    expect(scene.target?.metadata.annotations).toEqual(written);
    scene.vault.lists({ name: "db", version: 2 });
    expect(await scene.reconcile()).toBe("vault db@2, Synced");
  });

  test("reverts a higher version also if another annotation is malformed", async () => {
    const scene = await SyncScene.synced();
    scene.annotate({ "vaultsync.dev/versions": '{"password":99,"other":1}' });
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
  });

  test("reverts another source", async () => {
    const scene = await SyncScene.synced();
    const written = scene.target?.metadata.annotations;
    scene.annotate({ "vaultsync.dev/sources": '{"password":"another"}' });
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
    expect(scene.target?.metadata.annotations).toEqual(written);
  });

  test("does not follow a lower version of the vault", async () => {
    const scene = await SyncScene.synced(5);
    scene.vault.lists({ name: "db", version: 4 });
    for (const version of [3, 5, 99]) {
      scene.annotate({ "vaultsync.dev/versions": `{"password":${version}}` });
      expect(await scene.reconcile()).toBe("vault db@5, VersionRegressed");
      expect(scene.status.items).toMatchObject([{ version: 5, latest: 4 }]);
    }
  });

  test("leaves the target unchanged while its source is missing", async () => {
    const scene = await SyncScene.synced();
    scene.vault.lists();
    scene.annotate({ "vaultsync.dev/versions": '{"password":99}' });
    expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
    scene.vault.lists({ name: "db", version: 2 });
    expect(await scene.reconcile()).toBe("vault db@2, Synced");
  });
});

describe("SyncReconciler after a change to another vault", () => {
  test.each([3, 1, 9])(
    "fetches the value again if the synced version is 3 and that of the other vault %i",
    async (version) => {
      const scene = new SyncScene();
      scene.vault.lists({ name: "db", version: 3 });
      expect(await scene.reconcile()).toBe("vault db@3, Synced");
      scene.connect("other").lists({ name: "db", version });
      scene.follow("other");
      expect(await scene.reconcile()).toBe(`other db@${version}, Synced`);
    },
  );

  test("follows an entry that another user shares", async () => {
    const scene = new SyncScene();
    scene
      .connect("vault", "*", { receive: "Anyone" })
      .lists({ name: "db", version: 3, owner: "dba@example.com" });
    expect(await scene.reconcile()).toBe("vault db@3, Synced");
    scene
      .connect("other", "*", { receive: "Anyone" })
      .lists({ name: "db", owner: "dev@example.com" });
    scene.follow("other");
    expect(await scene.reconcile()).toBe("other db@1, Synced");
  });

  test("keeps the target while the other vault does not list its source", async () => {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db", version: 3 });
    await scene.reconcile();
    scene.connect("other").lists();
    scene.follow("other");
    expect(await scene.reconcile()).toBe("vault db@3, SourceMissing");
  });
});

describe("SyncReconciler for a source that is no longer listed", () => {
  const HOUR = 3_600_000;

  /** Returns a scene whose source is removed in an hour. */
  async function withDeadline(): Promise<SyncScene> {
    const scene = new SyncScene();
    scene.vault.lists({ name: "db", deleteAt: scene.clock.now() + HOUR });
    expect(await scene.reconcile()).toBe("vault db@1, Synced");
    return scene;
  }

  test("deletes the target if it was listed until its deadline", async () => {
    const scene = await withDeadline();
    await scene.clock.advance(HOUR);
    scene.vault.lists();
    expect(await scene.reconcile()).toBe("absent, SourceRemoved");
  });

  test("deletes the target if the deadline passed while the operator was down", async () => {
    const scene = await withDeadline();
    await scene.clock.advance(2 * HOUR);
    scene.connect("vault").lists();
    scene.restart();
    expect(await scene.reconcile()).toBe("absent, SourceRemoved");
  });

  test("keeps the target permanently if it was missing before its deadline", async () => {
    const scene = await withDeadline();
    await scene.clock.advance(HOUR - 6_000);
    scene.vault.lists();
    expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
    expect(scene.status.items).toEqual([{ secretKey: "password", key: "db", version: 1 }]);
    await scene.clock.advance(HOUR);
    expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
    scene.connect("vault").lists();
    scene.restart();
    expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
  });

  test("keeps the target if it was missing before its deadline and is reconciled only later", async () => {
    const scene = await withDeadline();
    await scene.clock.advance(HOUR - 6_000);
    scene.vault.lists();
    await scene.clock.advance(HOUR);
    scene.vault.lists({ name: "other" });
    expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
  });

  test("keeps the target after a change to a connection that never listed the source", async () => {
    const scene = await withDeadline();
    scene.connect("other").lists();
    scene.follow("other");
    expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
    await scene.clock.advance(HOUR);
    expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
  });

  test.each(["", " and a restart"])(
    "keeps the target after a change of the connection itself%s",
    async (restarted) => {
      const scene = await withDeadline();
      await scene.clock.advance(HOUR);
      scene.connect("vault", "narrower").lists();
      if (restarted !== "") scene.restart();
      expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
    },
  );

  test("keeps the target if it was suspended before a restart, when nothing followed the lists", async () => {
    const scene = await withDeadline();
    scene.suspend(true);
    expect(await scene.reconcile()).toBe("vault db@1, Suspended");
    scene.restart();
    await scene.clock.advance(HOUR);
    scene.connect("vault").lists();
    scene.suspend(false);
    expect(await scene.reconcile()).toBe("vault db@1, SourceMissing");
  });
});

// The watches are independent. With two leaders, or after a silent watch, the version before was
// reported again.
test("a target is read if the status names a later state of it than the watch shows", async () => {
  const scene = await SyncScene.synced(1);
  scene.vault.lists({ name: "db", version: 2 });
  await scene.reconcileElsewhere();
  expect(scene.status.items).toMatchObject([{ version: 2 }]);
  scene.vault.lists({ name: "db", version: 1 });
  await scene.reconcileOnce({ showsTarget: "before" });
  expect(scene.status.items).toMatchObject([{ version: 2 }]);
  expect(findCondition(scene.status.conditions, "Ready")?.reason).toBe("VersionRegressed");
});
