import { expect, test } from "vitest";
import { ACCOUNT } from "../lab/simulated/simulated-vault.ts";
import { NAMESPACE, PushScene } from "../lab/simulated/push-scene.ts";
import { vaultPushKind } from "../../src/operator/api/kinds.ts";
import { FORCE_SYNC_ANNOTATION } from "../../src/operator/api/names.ts";
import { readPushStatus } from "../../src/operator/push/push-status.ts";
import { TransientError } from "../../src/operator/vault-client/vault-error.ts";

const writes = (requests: readonly string[]): string[] =>
  requests.filter((one) => /^(protect|delete)/.test(one));

/** Starts an operator that has pushed the value `one`. */
async function pushed(changes: object = {}): Promise<PushScene> {
  const scene = await PushScene.run();
  scene.source({ password: "one" });
  scene.push(changes);
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([["one"], "Synced"]);
  scene.takeVaultRequests();
  return scene;
}

test("a key is pushed once, and once again after each change of its bytes", async () => {
  await using scene = await pushed();
  expect(scene.pushStatus()).toMatchObject({
    items: [
      { secretKey: "password", key: "db", version: 1, created: true, pushedAt: expect.any(String) },
    ],
  });
  await scene.settle(600_000);
  expect(new Set(scene.takeVaultRequests())).toEqual(new Set(["list_no_dup"]));
  scene.source({ password: "two" });
  await scene.settle();
  scene.source({ password: "two", unrelated: "x" });
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([["one", "two"], "Synced"]);
  expect(writes(scene.takeVaultRequests())).toEqual(["protect"]);
  expect(scene.notes).toContain("EntryPushed: pushed version 2 of the secret db");
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
  scene.source({ another: "one" });
  await scene.settle();
  expect(scene.reason()).toBe("SourceMissing");
  scene.source({ password: "one" });
  await scene.settle();
  const reasons = scene.notes
    .map((event) => event.split(":")[0])
    .filter((reason) => reason !== "Connected");
  expect(reasons.toSorted((a, b) => (a ?? "").localeCompare(b ?? ""))).toEqual([
    "EntryPushed",
    "Recovered",
    "SourceMissing",
  ]);
});

test("bytes that the vault has already are not pushed", async () => {
  await using scene = await PushScene.run();
  scene.vault().act(ACCOUNT, "protect", { key_name: "db", key_value: "one" });
  scene.source({ password: "one" });
  scene.push();
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([["one"], "Synced"]);
  expect(scene.pushStatus().items).toMatchObject([{ version: 1 }]);
  expect(scene.pushStatus().items?.[0]).not.toHaveProperty("created");
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
  scene.push({ data: [{ ...entry, metadata: { environment_type: "dev" }, deleteTime: "2h" }] });
  await scene.settle();
  expect(writes(scene.takeVaultRequests())).toEqual([]);
  scene.source({ password: "two" });
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
  expect([scene.versions(), scene.reason(), writes(scene.takeVaultRequests())]).toEqual([
    [],
    "SourceRemoved",
    [],
  ]);
  await scene.restart();
  expect([scene.versions(), scene.reason()]).toEqual([[], "SourceRemoved"]);
  scene.source({ password: "two" });
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([["two"], "Synced"]);
});

test("files are pushed with any bytes, and secrets only as text", async () => {
  await using scene = await PushScene.run();
  const binary = Buffer.from([0, 255, 10]);
  scene.source({ password: binary });
  scene.push({ data: [{ secretKey: "password", file: { filename: "conf" } }] });
  await scene.settle();
  expect(scene.vault().bytesOf("file", ACCOUNT, "conf", 1)).toEqual(binary);
  expect(scene.pushStatus().items).toMatchObject([
    { filename: "conf", version: 1, createdAt: expect.any(String), created: true },
  ]);
  expect(writes(scene.takeVaultRequests())).toEqual(["protect_file"]);
  scene.push();
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([[], "InvalidContent"]);
});

test("a missing Secret, a missing key and an empty value leave the vault unchanged", async () => {
  await using scene = await pushed();
  scene.source({ password: "" });
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([["one"], "SourceSuspicious"]);
  scene.source({ other: "x" });
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([["one"], "SourceMissing"]);
  expect(scene.pushCondition()?.message).toContain(
    "the key password of the Secret source does not exist",
  );
  scene.server.delete(
    { group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true },
    { namespace: NAMESPACE, name: "source" },
  );
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([["one"], "SourceMissing"]);
  scene.source({ password: "two" });
  await scene.settle();
  expect([scene.versions(), scene.reason()]).toEqual([["one", "two"], "Synced"]);
});

test.each([
  "vaultsync.dev/credentials",
  "kubernetes.io/service-account-token",
  "bootstrap.kubernetes.io/token",
])("a Secret of the type %s is never pushed", async (type) => {
  await using scene = await PushScene.run();
  scene.source({ password: "canary" }, { type });
  scene.push();
  await scene.settle();
  expect([scene.versions(), scene.reason(), scene.takeVaultRequests().includes("protect")]).toEqual(
    [[], "InvalidSpec", false],
  );
});

test("a suspended resource pushes nothing until it is resumed", async () => {
  await using scene = await pushed();
  scene.push({ suspend: true });
  scene.source({ password: "two" });
  await scene.settle(60_000);
  expect([scene.versions(), scene.reason()]).toEqual([["one"], "Suspended"]);
  scene.push({ suspend: false });
  await scene.settle();
  expect(scene.versions()).toEqual(["one", "two"]);
});

test("a forced sync reads the bytes of the vault again and echoes the annotation", async () => {
  await using scene = await pushed();
  const metadata = { annotations: { [FORCE_SYNC_ANNOTATION]: "now" } };
  scene.server.patch(vaultPushKind, { namespace: NAMESPACE, name: "push" }, { metadata });
  await scene.settle(9_000);
  expect(scene.pushStatus().lastForceSync).toBe("now");
  expect(scene.takeVaultRequests()).toContain("version_expose");
  expect([scene.versions(), scene.reason()]).toEqual([["one"], "Synced"]);
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
  expect([scene.versions(), scene.reason()]).toEqual([["one"], "Synced"]);
});

test("no value and no plain hash of one is in a status or an event", async () => {
  await using scene = await pushed();
  const text = JSON.stringify([scene.pushStatus(), scene.notes]);
  expect(text).not.toContain('one"');
  const hash = await crypto.subtle.digest("SHA-256", Buffer.from("one"));
  for (const encoding of ["hex", "base64", "base64url"] as const)
    expect(text).not.toContain(Buffer.from(hash).toString(encoding));
});
