import { expect, test } from "vitest";
import type { InMemoryResponse } from "../lab/simulated/vault/in-memory-vault.ts";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE, OTHER, PushScene } from "../lab/simulated/push-scene.ts";
import { vaultConnectionKind, vaultPushKind } from "../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION, PUSH_FINALIZER } from "../../src/operator/api/names.ts";

const toFile = { data: [{ secretKey: "password", file: { filename: "conf" } }] };
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const finalizers = (scene: PushScene): readonly string[] =>
  scene.pushResource().metadata.finalizers ?? [];

async function started(
  data: Readonly<Record<string, string>> = { password: "one" },
): Promise<PushScene> {
  const scene = await PushScene.run();
  scene.source(data);
  return scene;
}

test("Retain keeps the entry and has no finalizer, and the policy can change", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  expect([finalizers(scene), scene.reason()]).toEqual([[PUSH_FINALIZER], "Synced"]);
  scene.push({ deletionPolicy: "Retain" });
  await scene.settle();
  expect(finalizers(scene)).toEqual([]);
  scene.delete();
  await scene.settle();
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one"]]);
});

test("Delete removes the entries that the resource created, also after a restart", async () => {
  await using scene = await started();
  scene.push({
    deletionPolicy: "Delete",
    data: [{ secretKey: "password", remoteRef: { key: "db" } }, ...toFile.data],
  });
  await scene.settle();
  await scene.restart(() => scene.delete());
  expect([scene.exists(), scene.versions(), scene.versions("conf", "file")]).toEqual([
    false,
    [],
    [],
  ]);
  expect(scene.notes).toContain("EntryDeleted: deleted the secret db in the vault");
});

test.each<[string, (scene: PushScene) => void]>([
  [
    "it existed before",
    (scene) => void scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "before" }),
  ],
  [
    "it had the bytes before",
    (scene) => void scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "one" }),
  ],
])("Delete keeps an entry that the resource did not create: %s", async (_, before) => {
  await using scene = await started();
  before(scene);
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  const versions = scene.versions();
  scene.delete();
  await scene.settle();
  expect([scene.exists(), scene.versions()]).toEqual([false, versions]);
  expect(scene.notes.join()).toContain("EntryKept: kept the secret db");
});

test("Delete keeps an entry whose latest version is another one", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  await scene.restart(() => {
    scene.delete();
    scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
  });
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one", "theirs"]]);
});

test("Delete requests a list of its own after a forced sync", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  const metadata = { annotations: { [FORCE_SYNC_ANNOTATION]: "now" } };
  scene.server.patch(vaultPushKind, ref("push"), { metadata });
  await scene.settle(3_000);
  expect(scene.pushStatus().lastForceSync).toBe("now");
  scene.takeVaultRequests();
  scene.delete();
  await scene.settle(3_000);
  expect([scene.exists(), scene.versions()]).toEqual([false, []]);
  expect(
    scene
      .takeVaultRequests()
      .filter((one) => one !== "refresh_token")
      .slice(0, 3),
  ).toEqual(["list_no_dup", "expose", "delete"]);
});

test("Delete keeps an entry whose latest version an old list lacks", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  const lists: InMemoryResponse[] = [];
  scene.vault().network = {
    respond: ({ operation }, response) => {
      if (operation === "list_no_dup" && response.status === 200) lists.push(response);
      return Promise.resolve(operation === "list_no_dup" ? (lists[0] ?? response) : response);
    },
  };
  scene.vault().act(ACCOUNT, "protect", { key_name: "other", key_value: "changes the list" });
  await scene.settle();
  scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
  scene.delete();
  await scene.settle();
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one", "theirs"]]);
});

test("Delete keeps an entry that was recreated with the same version number", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  await scene.restart(() => {
    scene.delete();
    scene.vault().act(ACCOUNT, "delete", { key_name: "db" });
    scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
  });
  expect([scene.exists(), scene.versions()]).toEqual([false, ["theirs"]]);
});

test("Delete keeps an entry that another VaultPush takes over", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.push({}, "another");
  await scene.settle();
  scene.delete();
  await scene.settle();
  expect([scene.exists(), scene.versions(), scene.reason("another")]).toEqual([
    false,
    ["one"],
    "Synced",
  ]);
});

test("the deletion waits for a vault that is unreachable, and setting Retain ends it", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vault().network = {
    send: () => Promise.resolve({ status: 503, headers: {}, body: new Uint8Array() }),
  };
  scene.delete();
  await scene.settle(600_000);
  expect(scene.pushCondition()).toMatchObject({
    reason: "VaultUnreachable",
    message: expect.stringContaining("spec.deletionPolicy"),
  });
  expect(scene.notes.some((event) => event.startsWith("VaultUnreachable: "))).toBe(true);
  scene.push({ deletionPolicy: "Retain" });
  await scene.settle();
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one"]]);
});

test("the deletion continues when the vault can be reached again", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vault().network = {
    send: () => Promise.resolve({ status: 503, headers: {}, body: new Uint8Array() }),
  };
  scene.delete();
  await scene.settle(120_000);
  scene.vault().network = {};
  await scene.settle(300_000);
  expect([scene.exists(), scene.versions()]).toEqual([false, []]);
});

test("a lost response to the deletion of the entry does not hold the resource", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vault().network = {
    respond: ({ operation }, response) =>
      Promise.resolve(
        operation === "delete" ? { ...response, status: 500, body: new Uint8Array() } : response,
      ),
  };
  scene.delete();
  await scene.settle(60_000);
  expect([scene.exists(), scene.versions()]).toEqual([false, []]);
});

test("without its VaultConnection a deletion ends after five minutes and keeps the entry", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.server.delete(vaultConnectionKind, ref("vault"));
  scene.delete();
  await scene.settle(240_000);
  expect([scene.exists(), scene.reason()]).toEqual([true, "ConnectionNotFound"]);
  await scene.settle(120_000);
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one"]]);
});

test("a resource whose connection leads to another account keeps the entries of the former one", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  await scene.restart(() => {
    scene.connect("vault", { email: OTHER });
    scene.delete();
  });
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one"]]);
});

test("a resource that is deleted while suspended leaves the vault unchanged", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.push({ deletionPolicy: "Delete", suspend: true });
  scene.delete();
  await scene.settle();
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one"]]);
});

test("the finalizers of others are kept", async () => {
  await using scene = await started();
  scene.push();
  scene.server.patch(vaultPushKind, ref("push"), {
    metadata: { finalizers: ["example.com/hold"] },
  });
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.delete();
  await scene.settle();
  expect([finalizers(scene), scene.versions()]).toEqual([["example.com/hold"], []]);
});
