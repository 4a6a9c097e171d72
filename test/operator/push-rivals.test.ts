import { expect, test } from "vitest";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE, OTHER, PushScene } from "../lab/simulated/push-scene.ts";
import { vaultFileKind, vaultSecretKind } from "../../src/operator/api/kinds.ts";

const toFile = { data: [{ secretKey: "password", file: { filename: "conf" } }] };
const ref = (name: string) => ({ namespace: NAMESPACE, name });
const writes = (requests: readonly string[]): string[] =>
  requests.filter((one) => /^(protect|delete)/.test(one));

async function started(
  data: Readonly<Record<string, string>> = { password: "one" },
): Promise<PushScene> {
  const scene = await PushScene.run();
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
    (scene) =>
      scene.read("VaultSecret", {
        data: undefined,
        dataFrom: [{ find: { name: { regexp: "^d" } } }],
      }),
  ],
  [
    "a VaultSecret with another connection to the same vault",
    {},
    (scene) => {
      scene.connect("second", { email: OTHER, url: "https://vault.example.com/" });
      scene.read("VaultSecret", { connectionRef: { name: "second" } });
    },
  ],
  ["a VaultFile", toFile, (scene) => scene.read("VaultFile")],
];

test.each(readers)(
  "%s of the same entry into the same Secret is a PushLoop",
  async (_, spec, read) => {
    await using scene = await started();
    read(scene);
    await scene.settle();
    scene.takeVaultRequests();
    scene.push(spec);
    await scene.settle();
    expect([scene.reason(), writes(scene.takeVaultRequests())]).toEqual(["PushLoop", []]);
    expect(scene.pushCondition("Stalled")?.message).toMatch(
      /^Vault(Secret|File) reader reads the (secret db|file conf) into the Secret/,
    );
  },
);

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
  scene.vault().act(ACCOUNT, "protect", { key_name: "other", key_value: "x" });
  scene.read("VaultSecret", { target: { name: "copy" } });
  scene.push();
  await scene.settle();
  expect([scene.reason(), scene.versions()]).toEqual(["Synced", ["one"]]);
});

test("of two VaultPushes to one entry the older one pushes, also after a restart", async () => {
  await using scene = await started();
  scene.push();
  await scene.settle();
  scene.connected("other");
  scene.source({ password: "theirs" }, { namespace: "other" });
  scene.push({}, "push", "other");
  scene.push({}, "another");
  await scene.settle(300_000);
  expect([scene.versions(), scene.reason(), scene.reason("another")]).toEqual([
    ["one"],
    "Synced",
    "PushConflict",
  ]);
  expect(scene.pushCondition("Ready", "another")?.message).toMatch(/^the VaultPush push is older/);
  expect(scene.pushCondition("Ready", "push", "other")?.message).toMatch(
    /^a VaultPush of another namespace is older/,
  );
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

test("after a change of the connection to another account, the key is pushed there once", async () => {
  await using scene = await started();
  scene.push();
  await scene.settle();
  scene.connect("vault", { email: OTHER });
  await scene.settle();
  expect([scene.versions(), scene.versions("db", "secret", OTHER), scene.reason()]).toEqual([
    ["one"],
    ["one"],
    "Synced",
  ]);
});
