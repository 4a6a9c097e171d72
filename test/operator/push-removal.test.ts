import { expect, test } from "vitest";
import type { InMemoryResponse } from "../lab/simulated/vault/in-memory-vault.ts";
import { ACCOUNT, OTHER } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE } from "../lab/simulated/pushes.ts";
import { type SimulatedWorld, withPushSource } from "../lab/simulated/simulated-world.ts";
import { vaultPushKind } from "../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION, PUSH_FINALIZER } from "../../src/operator/api/names.ts";

const toFile = { data: [{ secretKey: "password", file: { filename: "conf" } }] };
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const finalizers = (scene: SimulatedWorld): readonly string[] =>
  scene.pushes.resource().metadata.finalizers ?? [];

test("Retain keeps the entry and has no finalizer, and the policy can change", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  expect(finalizers(scene)).toEqual([PUSH_FINALIZER]);
  expect(scene.pushes.reason()).toBe("Synced");
  scene.pushes.put({ deletionPolicy: "Retain" });
  await scene.settle();
  expect(finalizers(scene)).toEqual([]);
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["one"]);
});

test("Delete removes the entries that the resource created, also after a restart", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({
    deletionPolicy: "Delete",
    data: [{ secretKey: "password", remoteRef: { key: "db" } }, ...toFile.data],
  });
  await scene.settle();
  await scene.pushes.restart(() => scene.pushes.delete());
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.versions("conf", "file")).toEqual([]);
  const notes = ["deleted the secret db in the vault", "deleted the file conf in the vault"];
  expect(scene.events.filter(({ action }) => action === "Delete")).toMatchObject(
    notes.map((note) => ({ type: "Normal", reason: "EntryDeleted", note })),
  );
  const fields = { controller: "VaultPush", key: "shop/push", action: "deleted" };
  expect(scene.log.filter(({ message }) => message === "entry deleted")).toMatchObject(
    notes.map((message) => ({ fields: { ...fields, message } })),
  );
  expect(Object.fromEntries(await scene.samples("vaultsync_target_writes_total"))).toEqual({
    '{kind="VaultPush",action="deleted"}': 2,
  });
});

test.each<[string, (scene: SimulatedWorld) => void]>([
  [
    "it existed before",
    (scene) => void scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "before" }),
  ],
  [
    "it had the bytes before",
    (scene) => void scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "one" }),
  ],
])("Delete keeps an entry that the resource did not create: %s", async (_, before) => {
  await using scene = await withPushSource();
  before(scene);
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  const versions = scene.pushes.versions();
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(versions);
  const note = "kept the secret db: the status does not show that this resource created it";
  expect(scene.events.filter(({ action }) => action === "Delete")).toMatchObject([
    { regarding: { name: "push" }, type: "Warning", reason: "EntryKept", note },
  ]);
  const fields = { controller: "VaultPush", key: "shop/push", action: "kept", message: note };
  expect(scene.log.filter(({ message }) => message === "entry kept")).toMatchObject([{ fields }]);
});

test("Delete keeps an entry whose latest version is another one", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  await scene.pushes.restart(() => {
    scene.pushes.delete();
    scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
  });
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["one", "theirs"]);
  expect(scene.pushes.notes).toContain(
    "EntryKept: kept the secret db: its latest version is not the one that was pushed",
  );
});

test("Delete requests a list of its own after a forced sync", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  const metadata = { annotations: { [FORCE_SYNC_ANNOTATION]: "now" } };
  scene.server.patch(vaultPushKind, ref("push"), { metadata });
  await scene.settle(3_000);
  expect(scene.pushes.status().lastForceSync).toBe("now");
  scene.pushes.takeVaultRequests();
  scene.pushes.delete();
  await scene.settle(3_000);
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual([]);
  expect(
    scene.pushes
      .takeVaultRequests()
      .filter((one) => one !== "refresh_token")
      .slice(0, 3),
  ).toEqual(["list_no_dup", "expose", "delete"]);
});

test("Delete keeps an entry whose latest version an old list lacks", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
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
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["one", "theirs"]);
});

test("Delete keeps an entry that was recreated with the same version number", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  await scene.pushes.restart(() => {
    scene.pushes.delete();
    scene.vault().act(ACCOUNT, "delete", { key_name: "db" });
    scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
  });
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["theirs"]);
});

test("Delete keeps an entry that another VaultPush takes over", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.pushes.put({}, "another");
  await scene.settle();
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason("another")).toBe("Synced");
});

test("the deletion waits for a vault that is unreachable, and setting Retain ends it", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vault().network = {
    send: () => Promise.resolve({ status: 503, headers: {}, body: new Uint8Array() }),
  };
  scene.pushes.delete();
  await scene.settle(600_000);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "VaultUnreachable",
    message: expect.stringMatching(
      /^the entries are not deleted yet: .+\. To delete the resource and keep the entries, set spec.deletionPolicy to Retain$/u,
    ),
  });
  expect(scene.pushes.notes.some((event) => event.startsWith("VaultUnreachable: "))).toBe(true);
  scene.pushes.put({ deletionPolicy: "Retain" });
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["one"]);
});

test("the deletion continues when the vault can be reached again", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vault().network = {
    send: () => Promise.resolve({ status: 503, headers: {}, body: new Uint8Array() }),
  };
  scene.pushes.delete();
  await scene.settle(120_000);
  scene.vault().network = {};
  await scene.settle(300_000);
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual([]);
});

test("a lost response to the deletion of the entry does not hold the resource", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vault().network = {
    respond: ({ operation }, response) =>
      Promise.resolve(
        operation === "delete" ? { ...response, status: 500, body: new Uint8Array() } : response,
      ),
  };
  scene.pushes.delete();
  await scene.settle(60_000);
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual([]);
});

test("a resource whose connection leads to another account keeps the entries of the former one", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  await scene.pushes.restart(() => {
    scene.pushes.connect("vault", { email: OTHER });
    scene.pushes.delete();
  });
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.notes).toContain(
    "EntryKept: the VaultConnection now leads to another vault or account: the entries of the former one are kept",
  );
});

test.each<[string, string, string, (scene: SimulatedWorld) => void]>([
  [
    "the spec",
    "InvalidSpec",
    "spec.data",
    (scene) => scene.pushes.put({ deletionPolicy: "Delete", data: [{ secretKey: "password" }] }),
  ],
  [
    "the spec of the connection",
    "ConnectionNotReady",
    "the entries are not deleted yet: spec.url",
    (scene) => scene.pushes.connect("vault", { url: "vault" }),
  ],
])("the deletion waits until %s is valid, and says how to end it", async (_, reason, why, act) => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  act(scene);
  scene.pushes.delete();
  await scene.settle(600_000);
  const message = scene.pushes.condition()?.message ?? "";
  expect(scene.pushes.reason()).toBe(reason);
  expect(message).toContain(why);
  expect(message).toContain(
    ". To delete the resource and keep the entries, set spec.deletionPolicy to Retain",
  );
  expect(scene.pushes.versions()).toEqual(["one"]);
});

test("a resource that is deleted while suspended leaves the vault unchanged", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.pushes.put({ deletionPolicy: "Delete", suspend: true });
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["one"]);
});

test("the finalizers of others are kept", async () => {
  await using scene = await withPushSource();
  scene.pushes.put();
  scene.server.patch(vaultPushKind, ref("push"), {
    metadata: { finalizers: ["example.com/hold"] },
  });
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.pushes.delete();
  await scene.settle();
  expect(finalizers(scene)).toEqual(["example.com/hold"]);
  expect(scene.pushes.versions()).toEqual([]);
});

test.each(["theirs", "one"])(
  "Delete keeps an entry that another writer deleted and created with %s, also after a push",
  async (value) => {
    await using scene = await withPushSource();
    scene.pushes.put({ deletionPolicy: "Delete" });
    await scene.settle();
    scene.vault().act(ACCOUNT, "delete", { key_name: "db" });
    scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: value });
    await scene.settle();
    const versions = value === "one" ? ["one"] : ["theirs", "one"];
    expect(scene.pushes.versions()).toEqual(versions);
    scene.pushes.delete();
    await scene.settle();
    expect(scene.pushes.exists()).toBe(false);
    expect(scene.pushes.versions()).toEqual(versions);
  },
);

test("Delete keeps an entry that was recreated with a lower version and the same bytes", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.pushes.source({ password: "two" });
  await scene.settle();
  scene.vault().act(ACCOUNT, "delete", { key_name: "db" });
  scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "two" });
  await scene.settle();
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["two"]);
});

test("Delete removes an entry that the resource created and another writer changed since", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one", "theirs", "one"]);
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual([]);
});
