import { expect, test } from "vitest";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE } from "../lab/simulated/pushes.ts";
import { SimulatedWorld, pushed } from "../lab/simulated/simulated-world.ts";
import { vaultPushKind } from "../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../../src/operator/api/names.ts";
import { readPushStatus } from "../../src/operator/push/push-status.ts";
import { forbidden } from "../lab/simulated/api-server/status-error.ts";
import { TransientError } from "../../src/operator/vault-client/vault-error.ts";

test("a key is pushed once, and once again after each change of its bytes", async () => {
  await using scene = await pushed();
  expect(scene.pushes.status()).toMatchObject({
    items: [
      { secretKey: "password", key: "db", version: 1, created: true, pushedAt: expect.any(String) },
    ],
  });
  await scene.settle(600_000);
  expect(new Set(scene.pushes.takeVaultRequests())).toEqual(new Set(["list_no_dup"]));
  scene.pushes.source({ password: "two" });
  await scene.settle();
  scene.pushes.source({ password: "two", unrelated: "x" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one", "two"]);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.takeVaultWrites()).toEqual(["protect"]);
  expect(scene.pushes.notes).toContain("EntryPushed: pushed version 2 of the secret db");
});

test("after two conflicts of its status, nothing is pushed until the watch shows the spec", async () => {
  await using scene = await pushed();
  for (const watch of scene.server.watches(vaultPushKind)) watch.silence();
  scene.pushes.put({ data: [{ secretKey: "password", remoteRef: { key: "moved" } }] });
  scene.pushes.source({ password: "two" });
  await scene.settle(10_000);
  expect(scene.pushes.versions()).toEqual(["one", "two"]);
  scene.pushes.source({ password: "three" });
  await scene.settle(9_000);
  expect(scene.pushes.versions()).toEqual(["one", "two"]);
  for (const watch of scene.server.watches(vaultPushKind)) watch.drop();
  await scene.settle(600_000);
  expect(scene.pushes.versions("moved")).toEqual(["three"]);
});

test("a Secret that does not change costs one read of its metadata in each interval", async () => {
  await using scene = await pushed();
  scene.requests.length = 0;
  await scene.settle(60_000);
  expect(scene.requests.filter((one) => !one.includes("lease"))).toEqual(
    Array.from({ length: 6 }, () => "get secrets source"),
  );
});

test("the failure and the recovery of a VaultPush are events", async () => {
  await using scene = await pushed();
  scene.pushes.source({ another: "one" });
  await scene.settle();
  expect(scene.pushes.reason()).toBe("SourceMissing");
  scene.pushes.source({ password: "one" });
  await scene.settle();
  const reasons = scene.pushes.notes
    .map((event) => event.split(":")[0])
    .filter((reason) => reason !== "Connected");
  expect(reasons.toSorted((a, b) => (a ?? "").localeCompare(b ?? ""))).toEqual([
    "EntryPushed",
    "Recovered",
    "SourceMissing",
  ]);
});

test("bytes that the vault has already are not pushed", async () => {
  await using scene = await SimulatedWorld.forPushes();
  scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "one" });
  scene.pushes.source({ password: "one" });
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
  expect(scene.pushes.status().items).toMatchObject([{ version: 1 }]);
  expect(scene.pushes.status().items?.[0]).not.toHaveProperty("created");
});

test("metadata and deleteTime are sent with each push, and cause none", async () => {
  const entry = { secretKey: "password", remoteRef: { key: "db" } };
  const given = { metadata: { environment_type: "prod", expiration_time: 30 }, deleteTime: "1h" };
  await using scene = await pushed({ data: [{ ...entry, ...given }] });
  const list = (): unknown =>
    JSON.parse(JSON.stringify(scene.vault().act(ACCOUNT, "list_no_dup", {})));
  expect(list()).toMatchObject({
    secrets: [
      {
        delete_time: 60,
        metadata: { environment_type: "prod", expiration_time: 30, cloud_type: "aws" },
      },
    ],
  });
  scene.pushes.put({
    data: [{ ...entry, metadata: { environment_type: "dev" }, deleteTime: "2h" }],
  });
  await scene.settle();
  expect(scene.pushes.takeVaultWrites()).toEqual([]);
  scene.pushes.source({ password: "two" });
  await scene.settle();
  expect(list()).toMatchObject({
    secrets: [{ delete_time: 120, metadata: { environment_type: "dev", expiration_time: 30 } }],
  });
});

test("a secret that the vault removed at its deleteTime is pushed again when its key changes", async () => {
  await using scene = await pushed({
    data: [{ secretKey: "password", remoteRef: { key: "db" }, deleteTime: "1h" }],
  });
  await scene.settle(3_700_000);
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.reason()).toBe("SourceRemoved");
  expect(scene.pushes.takeVaultWrites()).toEqual([]);
  await scene.pushes.restart();
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "SourceRemoved",
    message: expect.stringMatching(
      /^the vault removed the secret db at its deleteTime \(20\S+Z\); it is pushed again when the key password changes$/u,
    ),
  });
  scene.pushes.source({ password: "two" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["two"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("files are pushed with any bytes, and secrets only as text", async () => {
  await using scene = await SimulatedWorld.forPushes();
  const binary = Buffer.from([0, 255, 10]);
  scene.pushes.source({ password: binary });
  scene.pushes.put({ data: [{ secretKey: "password", file: { filename: "conf" } }] });
  await scene.settle();
  expect(scene.vault().bytesOf("file", ACCOUNT, "conf", 1)).toEqual(binary);
  expect(scene.pushes.status().items).toMatchObject([
    { filename: "conf", version: 1, createdAt: expect.any(String), created: true },
  ]);
  expect(scene.pushes.takeVaultWrites()).toEqual(["protect_file"]);
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.reason()).toBe("InvalidContent");
});

test("a missing Secret, a missing key and an empty value leave the vault unchanged", async () => {
  await using scene = await pushed();
  scene.pushes.source({ password: "" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "SourceSuspicious",
    message:
      "the key password of the Secret source is empty: an empty value is not pushed, and the secret db is kept",
  });
  scene.pushes.source({ other: "x" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "SourceMissing",
    message: "the key password of the Secret source does not exist; the secret db is kept",
  });
  scene.server.delete(
    { group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true },
    { namespace: NAMESPACE, name: "source" },
  );
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "SourceMissing",
    message:
      "the Secret source does not exist in namespace shop: create it, or correct spec.secret.name; nothing is removed from the vault",
  });
  scene.pushes.source({ password: "two" });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one", "two"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("a Secret that the operator may not read is reported with the missing permission", async () => {
  await using scene = await pushed();
  scene.network = {
    send: ({ verb, ref, resource }) => {
      if (verb === "get" && ref.name === "source" && resource.kind === "Secret") throw forbidden();
    },
  };
  await scene.settle();
  expect(scene.pushes.condition()).toMatchObject({
    reason: "TargetForbidden",
    message: expect.stringContaining("permission denied: get secrets shop/source"),
  });
  expect(scene.pushes.versions()).toEqual(["one"]);
});

test("a push is logged and is an event of the resource, and names what was restored", async () => {
  await using scene = await pushed();
  scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "theirs" });
  await scene.settle();
  const events = scene.events.filter(({ action }) => action === "Push");
  const regarding = { kind: "VaultPush", name: "push" };
  const restored = "pushed version 3 of the secret db: another writer had changed or deleted it";
  expect(events).toMatchObject([
    { regarding, type: "Normal", reason: "EntryPushed", note: "pushed version 1 of the secret db" },
    { regarding, type: "Normal", reason: "EntryRestored", note: restored },
  ]);
  const fields = { controller: "VaultPush", key: "shop/push" };
  expect(scene.log.filter(({ message }) => message.startsWith("entry "))).toMatchObject([
    { message: "entry pushed", fields: { ...fields, action: "pushed" } },
    { message: "entry restored", fields: { ...fields, action: "restored" } },
  ]);
  expect(Object.fromEntries(await scene.samples("vaultsync_target_writes_total"))).toEqual({
    '{kind="VaultPush",action="pushed"}': 1,
    '{kind="VaultPush",action="restored"}': 1,
  });
});

test.each([
  ["vaultsync.dev/credentials", "credentials of the operator"],
  ["kubernetes.io/service-account-token", "of the type kubernetes.io/service-account-token"],
  ["bootstrap.kubernetes.io/token", "of the type bootstrap.kubernetes.io/token"],
])("a Secret of the type %s is never pushed", async (type, what) => {
  await using scene = await SimulatedWorld.forPushes();
  scene.pushes.source({ password: "canary" }, { type });
  scene.pushes.put();
  await scene.settle();
  expect(scene.pushes.versions()).toEqual([]);
  expect(scene.pushes.condition()).toMatchObject({
    reason: "InvalidSpec",
    message: expect.stringMatching(
      `^spec.secret.name: the Secret source is ${what}, .* never pushed: name another one$`,
    ),
  });
  expect(scene.pushes.takeVaultRequests().includes("protect")).toBe(false);
});

test("a suspended resource pushes nothing until it is resumed", async () => {
  await using scene = await pushed();
  scene.pushes.put({ suspend: true });
  scene.pushes.source({ password: "two" });
  await scene.settle(60_000);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Suspended");
  scene.pushes.put({ suspend: false });
  await scene.settle();
  expect(scene.pushes.versions()).toEqual(["one", "two"]);
});

test("a forced sync reads the bytes of the vault again and echoes the annotation", async () => {
  await using scene = await pushed();
  const metadata = { annotations: { [FORCE_SYNC_ANNOTATION]: "now" } };
  scene.server.patch(vaultPushKind, { namespace: NAMESPACE, name: "push" }, { metadata });
  await scene.settle(9_000);
  expect(scene.pushes.status().lastForceSync).toBe("now");
  expect(scene.pushes.takeVaultRequests()).toContain("version_expose");
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test.each<[string, (operation: string) => boolean]>([
  ["the list fails", (operation) => operation === "list_no_dup"],
  ["every request fails", () => true],
])("a forced sync is not ready from its echo to the next list if %s", async (_, fails) => {
  await using scene = await pushed();
  scene.vault().network = {
    send: async ({ operation }) => {
      if (fails(operation)) throw new TransientError(operation, "reset");
    },
  };
  const echoes: unknown[] = [];
  scene.server.onCommit(({ resource, after }) => {
    const { lastForceSync, conditions } =
      resource.plural === "vaultpushes" ? readPushStatus(after?.["status"]) : {};
    if (lastForceSync === "now")
      echoes.push(conditions?.find(({ type }) => type === "Ready")?.status);
  });
  const metadata = { annotations: { [FORCE_SYNC_ANNOTATION]: "now" } };
  scene.server.patch(vaultPushKind, { namespace: NAMESPACE, name: "push" }, { metadata });
  await scene.settle(180_000);
  expect(new Set(echoes)).toEqual(new Set(["False"]));
  scene.vault().network = {};
  await scene.settle(60_000);
  expect(scene.pushes.versions()).toEqual(["one"]);
  expect(scene.pushes.reason()).toBe("Synced");
});

test("no value and no plain hash of one is in a status or an event", async () => {
  await using scene = await pushed();
  const text = JSON.stringify([scene.pushes.status(), scene.pushes.notes]);
  expect(text).not.toContain('one"');
  const hash = await crypto.subtle.digest("SHA-256", Buffer.from("one"));
  for (const encoding of ["hex", "base64", "base64url"] as const)
    expect(text).not.toContain(Buffer.from(hash).toString(encoding));
});
