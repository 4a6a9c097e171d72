import { expect, test } from "vitest";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE } from "../lab/simulated/pushes.ts";
import { type SimulatedWorld, withPushSource } from "../lab/simulated/simulated-world.ts";
import { SECRETS } from "../../src/operator/kube/resource.ts";

const deleted = { deletionPolicy: "Delete" };
const toSecret = { secretKey: "password", remoteRef: { key: "db" } };
const toFile = { secretKey: "password", file: { filename: "conf" } };

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

async function deletePush(scene: SimulatedWorld): Promise<void> {
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
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
    await using scene = await withPushSource();
    scene.pushes.put(deleted);
    await scene.settle();
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
    await using scene = await withPushSource();
    scene.pushes.put(deleted);
    await scene.settle();
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
  await using scene = await withPushSource();
  scene.pushes.put(deleted);
  await scene.settle();
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
    await using scene = await withPushSource();
    scene.pushes.put(deleted);
    await scene.settle();
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
  await using scene = await withPushSource();
  scene.pushes.put(deleted);
  await scene.settle();
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
