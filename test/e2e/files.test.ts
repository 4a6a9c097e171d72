import { createHash, randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { bytesOf, condition, type ObservedObject, vaultFile, vaultSecret } from "./support/world.ts";
import { useWorld } from "./support/use-world.ts";

const world = await useWorld();
beforeAll(async () => {
  await world.startOperator();
});

const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** Returns the sha256 of each file in the vault's list. */
async function listed(): Promise<Map<string, string>> {
  const { files } = (await world.caller.call("list_file")).json() as { files: { filename: string; sha256: string }[] };
  return new Map(files.map((file) => [file.filename, file.sha256]));
}

function inConfigMap(object: ObservedObject, key: string): Buffer | undefined {
  const text = object.data[key];
  if (text !== undefined) return Buffer.from(text);
  return object.binaryData[key] === undefined ? undefined : Buffer.from(object.binaryData[key], "base64");
}

const downloads = (): Promise<number> =>
  world.vault.metric('vaultsync_vault_requests_total{operation="download_file",status="200"}');

test("resources report SourceMissing for an empty vault", async () => {
  await world.apply(vaultFile("none", [{ filename: "none.txt" }], { kind: "ConfigMap" }), vaultSecret("none", { none: "none" }));
  await world.until("VaultFile", "none", (one) => condition(one, "Ready")?.reason === "SourceMissing");
  await world.until("VaultSecret", "none", (one) => condition(one, "Ready")?.reason === "SourceMissing");
  expect(await world.get("ConfigMap", "none")).toBeUndefined();
});

test("text and binary files are stored in a ConfigMap and in a Secret byte for byte", async () => {
  const text = Buffer.from(`# ${world.canaries.text("text file")}\r\nlisten 80; # ü\n`);
  const binary = Buffer.concat([Buffer.from([0, 0xff, 0xfe, 0x80]), world.canaries.bytes("binary file", 5000)]);
  await world.upload("nginx.conf", text);
  await world.upload("logo.png", binary);
  const files = [{ filename: "nginx.conf" }, { filename: "logo.png", key: "logo" }];
  await world.apply(
    vaultFile("web", files, { kind: "ConfigMap", name: "web-conf" }),
    vaultFile("web-secret", files, { kind: "Secret" }),
  );
  await world.ready("VaultFile", "web");
  await world.ready("VaultFile", "web-secret");
  const atVault = await listed();
  const config = await world.until("ConfigMap", "web-conf", () => true);
  expect(Object.keys(config.data)).toEqual(["nginx.conf"]);
  expect(Object.keys(config.binaryData)).toEqual(["logo"]);
  expect(sha256(inConfigMap(config, "nginx.conf")!)).toBe(atVault.get("nginx.conf"));
  expect(sha256(inConfigMap(config, "logo")!)).toBe(atVault.get("logo.png"));
  const secret = await world.until("Secret", "web-secret", () => true);
  expect(sha256(bytesOf(secret, "nginx.conf")!)).toBe(atVault.get("nginx.conf"));
  expect(sha256(bytesOf(secret, "logo")!)).toBe(atVault.get("logo.png"));
});

test("a new upload is synced with a single download", async () => {
  const before = await downloads();
  const next = Buffer.from(`# ${world.canaries.text("second upload")}\n`);
  await world.upload("nginx.conf", next);
  await world.until("ConfigMap", "web-conf", (config) => config.data["nginx.conf"] === next.toString());
  await world.until("Secret", "web-secret", (secret) => bytesOf(secret, "nginx.conf")?.equals(next) === true);
  // Two resources use the same version: it is fetched once.
  expect((await downloads()) - before).toBe(1);
});

test("an external change of the ConfigMap is reverted", async () => {
  const patch = JSON.stringify({ data: { "nginx.conf": "broken", extra: "x" } });
  await world.plane.kubectl(["patch", "configmap", "web-conf", "--type=merge", "-p", patch], { namespace: world.namespace });
  const atVault = await listed();
  const config = await world.until("ConfigMap", "web-conf", (one) => one.data["nginx.conf"] !== "broken");
  expect(sha256(inConfigMap(config, "nginx.conf")!)).toBe(atVault.get("nginx.conf"));
  expect(Object.keys(config.data)).toEqual(["nginx.conf"]);
});

test("1 MiB is accepted, and one byte more is rejected with both sizes before any download", async () => {
  await world.upload("full.bin", randomBytes(1024 * 1024));
  await world.apply(vaultFile("full", [{ filename: "full.bin" }], { kind: "ConfigMap" }));
  await world.ready("VaultFile", "full");
  const before = await downloads();
  await world.upload("over.bin", randomBytes(1024 * 1024 + 1));
  await world.apply(vaultFile("over", [{ filename: "over.bin" }], { kind: "ConfigMap" }));
  const resource = await world.until("VaultFile", "over", (one) => condition(one, "Ready")?.reason === "TooLarge");
  expect(condition(resource, "Ready")?.message).toMatch(/1048577 bytes.*1048576/);
  expect(condition(resource, "Stalled")?.status).toBe("True");
  expect(await downloads()).toBe(before);
  expect(await world.get("ConfigMap", "over")).toBeUndefined();
});

test("a missing file is reported and synced once it exists", async () => {
  await world.apply(vaultFile("later", [{ filename: "later.txt" }], { kind: "ConfigMap" }));
  await world.until("VaultFile", "later", (one) => condition(one, "Ready")?.reason === "SourceMissing");
  expect(await world.get("ConfigMap", "later")).toBeUndefined();
  await world.upload("later.txt", Buffer.from("here now\n"));
  await world.ready("VaultFile", "later");
});

test("no file content appears in logs, events, statuses, annotations or metrics", async () => {
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});
