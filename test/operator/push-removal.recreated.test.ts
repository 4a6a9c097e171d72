import { describe, expect, test } from "vitest";
import { vaultConnectionKind, vaultPushKind } from "../../src/operator/api/kinds.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";
import { NAMESPACE } from "../lab/simulated/pushes.ts";
import { type SimulatedWorld, withPushSource } from "../lab/simulated/simulated-world.ts";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";

const CONNECTION = { namespace: NAMESPACE, name: "vault" };

/** Starts an operator that has pushed the secret `db`. */
async function pushed(deletionPolicy = "Delete"): Promise<SimulatedWorld> {
  const scene = await withPushSource();
  scene.pushes.put({ deletionPolicy });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  return scene;
}

const disconnect = (scene: SimulatedWorld): void =>
  scene.server.delete(vaultConnectionKind, CONNECTION);

/** The objects that the deletion of a namespace deletes, in any order. */
const DELETIONS = {
  connection: disconnect,
  credentials: (scene: SimulatedWorld) =>
    scene.server.delete(SECRETS, { namespace: NAMESPACE, name: "login" }),
  source: (scene: SimulatedWorld) =>
    scene.server.delete(SECRETS, { namespace: NAMESPACE, name: "source" }),
  push: (scene: SimulatedWorld) => scene.pushes.delete(),
};
type Deletion = keyof typeof DELETIONS;

describe("a VaultPush with Delete that is deleted with its namespace", () => {
  test.each<Deletion[]>([
    ["connection", "credentials", "source", "push"],
    ["credentials", "connection", "push", "source"],
    ["source", "push", "credentials", "connection"],
    ["push", "connection", "source", "credentials"],
  ])("deletes its entry: %s, %s, %s, %s", async (...order) => {
    await using scene = await pushed();
    for (const one of order) {
      DELETIONS[one](scene);
      await scene.settle(2_000);
    }
    await scene.settle(10_000);
    expect(scene.pushes.exists()).toBe(false);
    expect(scene.pushes.versions()).toEqual([]);
    expect(scene.pushes.notes).toContain("EntryDeleted: deleted the secret db in the vault");
  });

  test("deletes its entry within five minutes after its connection", async () => {
    await using scene = await pushed();
    disconnect(scene);
    await scene.settle(290_000);
    expect(scene.pushes.reason()).toBe("ConnectionNotFound");
    scene.pushes.delete();
    await scene.settle(5_000);
    expect(scene.pushes.exists()).toBe(false);
    expect(scene.pushes.versions()).toEqual([]);
  });

  test.each<[string, (scene: SimulatedWorld) => Promise<void>]>([
    ["a restart of the operator", (scene) => scene.pushes.restart(() => disconnect(scene))],
    [
      "five minutes",
      async (scene) => {
        disconnect(scene);
        await scene.settle(310_000);
      },
    ],
  ])("waits five minutes and keeps its entry after %s", async (_, disconnected) => {
    await using scene = await pushed();
    await disconnected(scene);
    scene.pushes.delete();
    await scene.settle(240_000);
    expect(scene.pushes.exists()).toBe(true);
    expect(scene.pushes.condition()).toMatchObject({
      reason: "ConnectionNotFound",
      message:
        "the entries are not deleted yet: VaultConnection vault does not exist. Without it they are kept in five minutes. To delete the resource and keep the entries, set spec.deletionPolicy to Retain",
    });
    await scene.settle(120_000);
    expect(scene.pushes.exists()).toBe(false);
    expect(scene.pushes.versions()).toEqual(["one"]);
    expect(scene.pushes.notes).toContain(
      "EntryKept: kept the entries in the vault: VaultConnection vault does not exist",
    );
  });

  test.each([true, false])(
    "keeps an entry that a VaultPush of another namespace pushes to (its connection exists: %j)",
    async (isConnected) => {
      await using scene = await pushed();
      scene.pushes.connected("other");
      scene.pushes.source({ password: "one" }, { namespace: "other" });
      scene.pushes.put({}, "push", "other");
      await scene.settle();
      disconnect(scene);
      if (!isConnected)
        scene.server.delete(vaultConnectionKind, { ...CONNECTION, namespace: "other" });
      scene.pushes.delete();
      await scene.settle(10_000);
      expect(scene.pushes.exists()).toBe(false);
      expect(scene.pushes.versions()).toEqual(["one"]);
      expect(scene.pushes.notes.join()).toContain("another VaultPush pushes to it");
    },
  );

  test("uses a connection that was created again, not the former session", async () => {
    await using scene = await pushed();
    disconnect(scene);
    await scene.settle(5_000);
    scene.pushes.connect("vault", { email: "other@example.com" });
    await scene.settle(5_000);
    scene.pushes.delete();
    await scene.settle(60_000);
    expect(scene.pushes.exists()).toBe(false);
    expect(scene.pushes.versions()).toEqual(["one"]);
  });
});

/** Counts the requests to the vault in ten minutes. */
async function requests(scene: SimulatedWorld): Promise<number> {
  let count = 0;
  scene.vault().network = { send: () => Promise.resolve(void (count += 1)) };
  await scene.settle(600_000);
  return count;
}

describe("a deleted connection", () => {
  test("sends nothing more once its VaultPushes are gone", async () => {
    await using scene = await pushed();
    disconnect(scene);
    scene.pushes.delete();
    await scene.settle(10_000);
    expect(scene.pushes.exists()).toBe(false);
    expect(await requests(scene)).toBe(0);
  });

  test("sends nothing more without a VaultPush with Delete", async () => {
    await using scene = await pushed("Retain");
    disconnect(scene);
    await scene.settle(2_000);
    expect(await requests(scene)).toBe(0);
  });

  test("pushes nothing any more", async () => {
    await using scene = await pushed();
    disconnect(scene);
    scene.pushes.source({ password: "two" });
    await scene.settle(240_000);
    expect(scene.pushes.versions()).toEqual(["one"]);
    expect(scene.server.find(vaultPushKind, { namespace: NAMESPACE, name: "push" })).toBeDefined();
  });
});

const deleted = { deletionPolicy: "Delete" };
const toSecret = { secretKey: "password", remoteRef: { key: "db" } };
const toFile = { secretKey: "password", file: { filename: "conf" } };

async function deletePush(scene: SimulatedWorld): Promise<void> {
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
}

test("Delete keeps an entry that was removed from spec.data before, also if it was added again", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ ...deleted, data: [toSecret, toFile] });
  await scene.settle();
  scene.pushes.put({ ...deleted, data: [toFile] });
  await scene.settle();
  scene.pushes.put({ ...deleted, data: [toSecret, toFile] });
  await scene.settle();
  await deletePush(scene);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.versions("conf", "file")).toEqual([]);
});

test.each(["one", "two"])(
  "Delete removes an entry that is pushed from another key with %s since",
  async (value) => {
    await using scene = await pushed();
    scene.pushes.source({ pass: value });
    scene.pushes.put({ ...deleted, data: [{ ...toSecret, secretKey: "pass" }] });
    await scene.settle();
    expect(scene.pushes.status().items).toMatchObject([{ secretKey: "pass", created: true }]);
    await deletePush(scene);
    expect(scene.pushes.versions()).toEqual([]);
  },
);

test("Delete removes an entry whose key was renamed to one that the Secret lacks", async () => {
  await using scene = await pushed();
  scene.pushes.put({ ...deleted, data: [{ ...toSecret, secretKey: "pass" }] });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("SourceMissing");
  await deletePush(scene);
  expect(scene.pushes.versions()).toEqual([]);
});

/** Another writer writes a version. */
const write = (scene: SimulatedWorld, value: string): void =>
  void scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: value });

const drop = (scene: SimulatedWorld): void =>
  void scene.vault().act(ACCOUNT, "delete", { key_name: "db" });

/** Another writer deletes the entry and creates it; the operator lists each step. */
async function replace(scene: SimulatedWorld): Promise<void> {
  drop(scene);
  write(scene, "theirs");
  await scene.settle();
  write(scene, "theirs too");
  await scene.settle();
}

/** Changes that stop a VaultPush for a while, and that let it continue. */
const pauses: readonly [
  string,
  (scene: SimulatedWorld) => void,
  (scene: SimulatedWorld) => void,
][] = [
  [
    "it is suspended",
    (scene) => scene.pushes.put({ ...deleted, suspend: true }),
    (scene) => scene.pushes.put(deleted),
  ],
  [
    "its Secret is missing",
    (scene) => scene.server.delete(SECRETS, { namespace: NAMESPACE, name: "source" }),
    (scene) => scene.pushes.source({ password: "one" }),
  ],
  [
    "its key is missing",
    (scene) => scene.pushes.source({}),
    (scene) => scene.pushes.source({ password: "one" }),
  ],
  [
    "it does not name the entry",
    (scene) => scene.pushes.put({ ...deleted, data: [toFile] }),
    (scene) => scene.pushes.put({ ...deleted, data: [toFile, toSecret] }),
  ],
  [
    "it is suspended without the entry",
    (scene) => scene.pushes.put({ ...deleted, suspend: true, data: [toFile] }),
    (scene) => scene.pushes.put(deleted),
  ],
];

test.each(pauses)(
  "Delete keeps an entry that another writer deleted and created while %s",
  async (_, pause, resume) => {
    await using scene = await pushed();
    pause(scene);
    await scene.settle();
    await replace(scene);
    resume(scene);
    await scene.settle();
    expect(scene.pushes.reason()).toBe("Synced");
    expect(scene.pushes.versions()).toEqual(["theirs", "theirs too", "one"]);
    await deletePush(scene);
    expect(scene.pushes.versions()).toEqual(["theirs", "theirs too", "one"]);
  },
);

test.each(pauses.slice(0, 3))(
  "Delete keeps an entry that was replaced while %s, also after a restart",
  async (_, pause, resume) => {
    await using scene = await pushed();
    pause(scene);
    drop(scene);
    await scene.settle();
    expect(scene.pushes.status().items?.[0]).toMatchObject({ missing: true });
    await scene.pushes.restart(() => {
      write(scene, "theirs");
      write(scene, "theirs too");
    });
    resume(scene);
    await scene.settle();
    await deletePush(scene);
    expect(scene.pushes.versions()).toEqual(["theirs", "theirs too", "one"]);
  },
);

test("Delete keeps an entry that was recreated between two versions of another writer", async () => {
  await using scene = await pushed();
  scene.pushes.put({ ...deleted, suspend: true });
  write(scene, "theirs");
  await scene.settle();
  drop(scene);
  write(scene, "new");
  write(scene, "newer");
  await scene.settle();
  scene.pushes.put(deleted);
  await scene.settle();
  await deletePush(scene);
  expect(scene.pushes.versions()).toEqual(["new", "newer", "one"]);
});

test.each(pauses.slice(0, 3))(
  "Delete removes an entry that another writer changed while %s",
  async (_, pause, resume) => {
    await using scene = await pushed();
    pause(scene);
    await scene.settle();
    write(scene, "theirs");
    await scene.settle();
    resume(scene);
    await scene.settle();
    expect(scene.pushes.versions()).toEqual(["one", "theirs", "one"]);
    await deletePush(scene);
    expect(scene.pushes.versions()).toEqual([]);
  },
);

test("Delete keeps an entry that was recreated with the same bytes right after a list without it", async () => {
  await using scene = await pushed();
  let isRecreated = false;
  scene.vault().network = {
    send: ({ operation }) => {
      if (operation === "expose" && !isRecreated) {
        isRecreated = true;
        write(scene, "one");
      }
      return Promise.resolve(undefined);
    },
  };
  drop(scene);
  await scene.settle();
  expect(isRecreated).toBe(true);
  await deletePush(scene);
  expect(scene.pushes.versions()).toEqual(["one"]);
});
