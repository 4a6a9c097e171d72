import { expect, test } from "vitest";
import { ACCOUNT, OTHER } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE } from "../lab/simulated/pushes.ts";
import { SimulatedWorld, withPushSource } from "../lab/simulated/simulated-world.ts";
import { vaultFileKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";

const toFile = { data: [{ secretKey: "password", file: { filename: "conf" } }] };
const ref = (name: string) => ({ namespace: NAMESPACE, name });

/** A reader of the entry whose target is the Secret that is pushed. */
const readers: readonly [string, object, (scene: SimulatedWorld) => void][] = [
  ["a VaultSecret", {}, (scene) => scene.pushes.read("VaultSecret")],
  [
    "a VaultSecret that merges",
    {},
    (scene) =>
      scene.pushes.read("VaultSecret", { target: { name: "source", creationPolicy: "Merge" } }),
  ],
  [
    "a VaultSecret that finds it",
    {},
    (scene) =>
      scene.pushes.read("VaultSecret", {
        data: undefined,
        dataFrom: [{ find: { name: { regexp: "^d" } } }],
      }),
  ],
  [
    "a VaultSecret with another connection to the same vault",
    {},
    (scene) => {
      scene.pushes.connect("second", { email: OTHER, url: "https://vault.example.com/" });
      scene.pushes.read("VaultSecret", { connectionRef: { name: "second" } });
    },
  ],
  ["a VaultFile", toFile, (scene) => scene.pushes.read("VaultFile")],
];

test.each(readers)(
  "%s of the same entry into the same Secret is a PushLoop",
  async (_, spec, read) => {
    await using scene = await withPushSource();
    read(scene);
    await scene.settle();
    scene.pushes.takeVaultRequests();
    scene.pushes.put(spec);
    await scene.settle();
    expect(scene.pushes.reason()).toBe("PushLoop");
    expect(scene.pushes.takeVaultWrites()).toEqual([]);
    expect(scene.pushes.condition("Stalled")?.message).toMatch(
      /^Vault(Secret|File) reader reads the (secret db|file conf) into the Secret/,
    );
  },
);

test.each(readers)(
  "%s that is created after the VaultPush stops it, and lets it continue when it is deleted",
  async (_, spec, read) => {
    await using scene = await withPushSource();
    scene.pushes.put(spec);
    await scene.settle();
    expect(scene.pushes.reason()).toBe("Synced");
    read(scene);
    await scene.settle(2_000);
    expect(scene.pushes.reason()).toBe("PushLoop");
    for (const kind of [vaultSecretKind, vaultFileKind]) {
      if (scene.server.find(kind, ref("reader"))) scene.server.delete(kind, ref("reader"));
    }
    await scene.settle(2_000);
    expect(["Synced", "SourceMissing"]).toContain(scene.pushes.reason());
  },
);

test("reading another entry, or into another Secret, is no loop", async () => {
  await using scene = await withPushSource();
  scene.vault().act(ACCOUNT, "protect", { key_name: "other", key_value: "x" });
  scene.pushes.read("VaultSecret", { target: { name: "copy" } });
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.versions()).toEqual(["one"]);
});

test("of two VaultPushes to one entry the older one pushes, also after a restart", async () => {
  await using scene = await withPushSource();
  scene.pushes.put();
  await scene.settle();
  scene.pushes.connected("other");
  scene.pushes.source({ password: "theirs" }, { namespace: "other" });
  scene.pushes.put({}, "push", "other");
  scene.pushes.put({}, "another");
  await scene.settle(300_000);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.reason("another")).toBe("PushConflict");
  expect(scene.pushes.condition("Ready", "another")?.message).toMatch(
    /^the VaultPush push is older/,
  );
  expect(scene.pushes.condition("Ready", "push", "other")?.message).toMatch(
    /^a VaultPush of another namespace is older/,
  );
  await scene.pushes.restart();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason("push", "other")).toBe("PushConflict");
  scene.pushes.delete();
  scene.pushes.delete("another");
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one", "theirs"]);
  expect(scene.pushes.reason("push", "other")).toBe("Synced");
});

test("two VaultPushes to different entries of different kinds do not conflict", async () => {
  await using scene = await withPushSource();
  scene.pushes.put({ data: [{ secretKey: "password", remoteRef: { key: "conf" } }] });
  scene.pushes.put(toFile, "another");
  await scene.settle();
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.reason("another")).toBe("Synced");
});

test("after a change of the connection to another account, the key is pushed there once", async () => {
  await using scene = await withPushSource();
  scene.pushes.put();
  await scene.settle();
  scene.pushes.connect("vault", { email: OTHER });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a push to a secret of a trusted owner and a push of that owner conflict", async () => {
  await using scene = await withPushSource();
  const shared = { key_name: "db", usr_id_from: OTHER };
  scene.vault().act(OTHER, "protect", { key_name: "db", key_value: "before" });
  scene.vault().act(OTHER, "share", { ...shared, permission: "RW", usr_id_to: ACCOUNT });
  scene.pushes.connect("vault", { trustedOwners: [OTHER] });
  scene.pushes.put();
  await scene.settle();
  scene.pushes.connected("other");
  scene.pushes.connect("vault", { email: OTHER }, "other");
  scene.pushes.source({ password: "theirs" }, { namespace: "other" });
  scene.pushes.put({}, "push", "other");
  await scene.settle(300_000);
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["before", "one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.reason("push", "other")).toBe("PushConflict");
});

/** Returns a world in which another account shares a secret that the connection trusts it for. */
async function trusting(): Promise<SimulatedWorld> {
  const scene = await withPushSource();
  const shared = { key_name: "db", usr_id_from: OTHER };
  scene.vault().act(OTHER, "protect", { key_name: "db", key_value: "before" });
  scene.vault().act(OTHER, "share", { ...shared, permission: "RW", usr_id_to: ACCOUNT });
  scene.pushes.connect("vault", { trustedOwners: [OTHER] });
  return scene;
}

test("the younger of two VaultPushes to a secret of a trusted owner never pushes", async () => {
  await using scene = await trusting();
  scene.pushes.put();
  await scene.settle();
  scene.pushes.connected("other");
  scene.pushes.connect("vault", { trustedOwners: [OTHER] }, "other");
  scene.pushes.source({ password: "theirs" }, { namespace: "other" });
  scene.pushes.put({}, "push", "other");
  await scene.settle(300_000);
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["before", "one"]);
  expect(scene.pushes.reason("push", "other")).toBe("PushConflict");
});

test("a push to a secret of a trusted owner does not conflict with one to an own secret", async () => {
  await using scene = await trusting();
  scene.pushes.connected("other");
  scene.pushes.put({}, "push", "other");
  await scene.settle();
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.reason("push", "other")).toBe("SourceMissing");
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["before", "one"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

/** Returns a world in which an account that trusts the account of `shop` pushes to its secret. */
async function trusted(): Promise<SimulatedWorld> {
  const scene = await withPushSource();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.pushes.connected("other");
  scene.pushes.connect("vault", { email: OTHER, trustedOwners: [ACCOUNT] }, "other");
  scene.pushes.source({ password: "theirs" }, { namespace: "other" });
  scene.pushes.put({}, "push", "other");
  return scene;
}

test.each([[{}], [{ remoteRef: { key: "db", owner: ACCOUNT } }]])(
  "Delete keeps a secret that a younger VaultPush of a trusting account takes over: %j",
  async (item) => {
    await using scene = await trusted();
    const share = { key_name: "db", usr_id_from: ACCOUNT, usr_id_to: OTHER, permission: "RW" };
    scene.vault().act(ACCOUNT, "share", share);
    const data = [{ secretKey: "password", remoteRef: { key: "db" }, ...item }];
    scene.pushes.put({ data }, "push", "other");
    await scene.settle();
    expect(scene.pushes.reason("push", "other")).toBe("PushConflict");
    scene.pushes.delete();
    await scene.settle();
    expect(scene.pushes.exists()).toBe(false);
    expect(scene.pushes.reason("push", "other")).toBe("Synced");
    expect(scene.pushes.versions()).toEqual(["one", "theirs"]);
  },
);

test("Delete removes a secret that is not shared with the accounts that trust its creator", async () => {
  await using scene = await trusted();
  await scene.settle();
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.versions("db", "secret", OTHER)).toEqual(["theirs"]);
});

const FLAGS = { leaderElect: false, namespaces: ["shop", "billing"] };
/** Time within which a namespace whose permissions are back is served. */
const BACK_MS = 120_000;
const HELD = /^not all namespaces that the operator serves are listed/u;

/** Returns a world with a namespace next to `shop`. Its Secret has the value `older`. */
async function twoNamespaces(): Promise<SimulatedWorld> {
  const scene = await SimulatedWorld.forPushes(FLAGS);
  scene.pushes.connected("billing");
  scene.pushes.source({ password: "older" }, { namespace: "billing" });
  scene.pushes.source({ password: "younger" });
  return scene;
}

/** Restarts the operator while it may not list the namespace `billing`. */
const restartWithoutBilling = (scene: SimulatedWorld): Promise<void> =>
  scene.pushes.restart(() => scene.deny("billing"));

test("the younger of two VaultPushes does not take over while the older one is unreadable", async () => {
  await using scene = await twoNamespaces();
  scene.pushes.put({}, "push", "billing");
  await scene.settle();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("PushConflict");
  await restartWithoutBilling(scene);
  expect(scene.pushes.versions()).toEqual(["older"]);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "TargetForbidden",
    message: expect.stringMatching(HELD),
  });
  scene.pushes.delete();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["older"]);
  scene.allow();
  await scene.settle(BACK_MS);
  expect(scene.pushes.reason("push", "billing")).toBe("Synced");
});

test("Delete waits while a namespace is unreadable, and keeps an entry that is shared there", async () => {
  await using scene = await twoNamespaces();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.pushes.put({}, "push", "billing");
  await scene.settle();
  await restartWithoutBilling(scene);
  scene.pushes.delete();
  await scene.settle(300_000);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "TargetForbidden",
    message: expect.stringMatching(
      /^the entries are not deleted yet: .*deletionPolicy to Retain$/u,
    ),
  });
  expect(scene.pushes.versions()).toEqual(["younger"]);
  scene.allow();
  await scene.settle(BACK_MS);
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["younger", "older"]);
});

test("an entry whose latest version is the pushed one is pushed while a namespace is unreadable", async () => {
  await using scene = await twoNamespaces();
  scene.pushes.put();
  await scene.settle();
  await restartWithoutBilling(scene);
  scene.pushes.source({ password: "changed" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["younger", "changed"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a namespace that is unreadable does not delay the first push of another one", async () => {
  await using scene = await twoNamespaces();
  await restartWithoutBilling(scene);
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["younger"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("Delete waits also when a namespace became unreadable while the operator was running", async () => {
  await using scene = await twoNamespaces();
  scene.pushes.put({ deletionPolicy: "Delete" });
  await scene.settle();
  scene.deny("billing");
  for (const watch of scene.server.watches()) watch.drop();
  await scene.settle(60_000);
  scene.pushes.put({}, "push", "billing");
  scene.pushes.delete();
  await scene.settle(300_000);
  expect(scene.pushes.reason()).toBe("TargetForbidden");
  expect(scene.pushes.versions()).toEqual(["younger"]);
  scene.allow();
  await scene.settle(BACK_MS);
  expect(scene.pushes.exists()).toBe(false);
  expect(scene.pushes.versions()).toEqual(["younger", "older"]);
});
