import { expect, test } from "vitest";
import { ACCOUNT, NAMESPACE, OTHER, PushScene } from "../../test/support/operator/push-scene.ts";
import { vaultConnectionKind, vaultFileKind, vaultPushKind, vaultSecretKind } from "./api/kinds.ts";
import { PUSH_FINALIZER } from "./api/names.ts";

const toFile = { data: [{ secretKey: "password", file: { filename: "conf" } }] };
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const finalizers = (scene: PushScene): readonly string[] => scene.resource().metadata.finalizers ?? [];
const writes = (requests: readonly string[]): string[] => requests.filter((one) => /^(protect|delete)/.test(one));

async function started(data: Readonly<Record<string, string>> = { password: "one" }): Promise<PushScene> {
  const scene = await PushScene.start();
  scene.source(data);
  return scene;
}

/** A reader of the entry whose target is the Secret that is pushed. */
const readers: readonly [string, object, (scene: PushScene) => void][] = [
  ["a VaultSecret", {}, (scene) => scene.read("VaultSecret")],
  [
    "a VaultSecret that merges",
    {},
    (scene) => scene.read("VaultSecret", { target: { name: "source", creationPolicy: "Merge" } }),
  ],
  [
    "a VaultSecret that finds it",
    {},
    (scene) => scene.read("VaultSecret", { data: undefined, dataFrom: [{ find: { name: { regexp: "^d" } } }] }),
  ],
  [
    "a VaultSecret with another connection to the same vault",
    {},
    (scene) => {
      scene.connection("second", { email: OTHER, url: "https://vault.example.com/" });
      scene.read("VaultSecret", { connectionRef: { name: "second" } });
    },
  ],
  ["a VaultFile", toFile, (scene) => scene.read("VaultFile")],
];

test.each(readers)("%s of the same entry into the same Secret is a PushLoop", async (_, spec, read) => {
  await using scene = await started();
  read(scene);
  await scene.settle();
  scene.takeVaultRequests();
  scene.push(spec);
  await scene.settle();
  expect([scene.reason(), writes(scene.takeVaultRequests())]).toEqual(["PushLoop", []]);
  expect(scene.condition("Stalled")?.message).toMatch(
    /^Vault(Secret|File) reader reads the (secret db|file conf) into the Secret/,
  );
});

test.each(readers)(
  "%s that is created after the VaultPush stops it, and lets it continue when it is deleted",
  async (_, spec, read) => {
    await using scene = await started();
    scene.push(spec);
    await scene.settle();
    expect(scene.reason()).toBe("Synced");
    read(scene);
    await scene.settle(2_000);
    expect(scene.reason()).toBe("PushLoop");
    for (const kind of [vaultSecretKind, vaultFileKind]) {
      if (scene.server.find(kind, ref("reader"))) scene.server.delete(kind, ref("reader"));
    }
    await scene.settle(2_000);
    expect(["Synced", "SourceMissing"]).toContain(scene.reason());
  },
);

test("reading another entry, or into another Secret, is no loop", async () => {
  await using scene = await started();
  scene.vault.act(ACCOUNT, "protect", { key_name: "other", key_value: "x" });
  scene.read("VaultSecret", { target: { name: "copy" } });
  scene.push();
  await scene.settle();
  expect([scene.reason(), scene.versions()]).toEqual(["Synced", ["one"]]);
});

test("of two VaultPushes to one entry the older one pushes, also after a restart", async () => {
  await using scene = await started();
  scene.push();
  await scene.settle();
  scene.namespace("other");
  scene.source({ password: "theirs" }, { namespace: "other" });
  scene.push({}, "push", "other");
  scene.push({}, "another");
  await scene.settle(300_000);
  expect([scene.versions(), scene.reason(), scene.reason("another")]).toEqual([["one"], "Synced", "PushConflict"]);
  expect(scene.condition("Ready", "another")?.message).toMatch(/^the VaultPush push is older/);
  expect(scene.condition("Ready", "push", "other")?.message).toMatch(/^a VaultPush of another namespace is older/);
  await scene.restart();
  expect([scene.versions(), scene.reason("push", "other")]).toEqual([["one"], "PushConflict"]);
  scene.delete();
  scene.delete("another");
  await scene.settle();
  expect([scene.versions(), scene.reason("push", "other")]).toEqual([["one", "theirs"], "Synced"]);
});

test("two VaultPushes to different entries of different kinds do not conflict", async () => {
  await using scene = await started();
  scene.push({ data: [{ secretKey: "password", remoteRef: { key: "conf" } }] });
  scene.push(toFile, "another");
  await scene.settle();
  expect([scene.reason(), scene.reason("another")]).toEqual(["Synced", "Synced"]);
});

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
  scene.push({ deletionPolicy: "Delete", data: [{ secretKey: "password", remoteRef: { key: "db" } }, ...toFile.data] });
  await scene.settle();
  await scene.restart(() => scene.delete());
  expect([scene.exists(), scene.versions(), scene.versions("conf", "file")]).toEqual([false, [], []]);
  expect(scene.events).toContain("EntryDeleted: deleted the secret db in the vault");
});

test.each<[string, (scene: PushScene) => void]>([
  ["it existed before", (scene) => void scene.vault.act(ACCOUNT, "protect", { key_name: "db", key_value: "before" })],
  ["it had the bytes before", (scene) => void scene.vault.act(ACCOUNT, "protect", { key_name: "db", key_value: "one" })],
])("Delete keeps an entry that the resource did not create: %s", async (_, before) => {
  await using scene = await started();
  before(scene);
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  const versions = scene.versions();
  scene.delete();
  await scene.settle();
  expect([scene.exists(), scene.versions()]).toEqual([false, versions]);
  expect(scene.events.join()).toContain("EntryKept: kept the secret db");
});

test("Delete keeps an entry whose latest version is another one", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  await scene.restart(() => {
    scene.delete();
    scene.vault.act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
  });
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one", "theirs"]]);
});

test("Delete keeps an entry that was recreated with the same version number", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  await scene.restart(() => {
    scene.delete();
    scene.vault.act(ACCOUNT, "delete", { key_name: "db" });
    scene.vault.act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
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
  expect([scene.exists(), scene.versions(), scene.reason("another")]).toEqual([false, ["one"], "Synced"]);
});

test("the deletion waits for a vault that is unreachable, and setting Retain ends it", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vaultNetwork = { send: () => Promise.resolve({ status: 503, headers: {}, body: new Uint8Array() }) };
  scene.delete();
  await scene.settle(600_000);
  expect(scene.condition()).toMatchObject({
    reason: "VaultUnreachable",
    message: expect.stringContaining("spec.deletionPolicy"),
  });
  expect(scene.events.some((event) => event.startsWith("VaultUnreachable: "))).toBe(true);
  scene.push({ deletionPolicy: "Retain" });
  await scene.settle();
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one"]]);
});

test("the deletion continues when the vault can be reached again", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vaultNetwork = { send: () => Promise.resolve({ status: 503, headers: {}, body: new Uint8Array() }) };
  scene.delete();
  await scene.settle(120_000);
  scene.vaultNetwork = {};
  await scene.settle(300_000);
  expect([scene.exists(), scene.versions()]).toEqual([false, []]);
});

test("a lost response to the deletion of the entry does not hold the resource", async () => {
  await using scene = await started();
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vaultNetwork = {
    respond: ({ operation }, response) =>
      Promise.resolve(operation === "delete" ? { ...response, status: 500, body: new Uint8Array() } : response),
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
    scene.connection("vault", { email: OTHER });
    scene.delete();
  });
  expect([scene.exists(), scene.versions()]).toEqual([false, ["one"]]);
});

test("after a change of the connection to another account, the key is pushed there once", async () => {
  await using scene = await started();
  scene.push();
  await scene.settle();
  scene.connection("vault", { email: OTHER });
  await scene.settle();
  expect([scene.versions(), scene.versions("db", "secret", OTHER), scene.reason()]).toEqual([["one"], ["one"], "Synced"]);
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
  scene.server.patch(vaultPushKind, ref("push"), { metadata: { finalizers: ["example.com/hold"] } });
  scene.push({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.delete();
  await scene.settle();
  expect([finalizers(scene), scene.versions()]).toEqual([["example.com/hold"], []]);
});
