import { randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import {
  bytesOf,
  condition,
  type ObservedObject,
  vaultFile,
  vaultSecret,
} from "../lab/real/resources.ts";
import { World } from "../lab/real/world.ts";
import { sha256 } from "../lab/vault/requests.ts";

const world = await World.ofFile();
beforeAll(async () => {
  await world.startOperator();
});

/** Returns the sha256 of each file in the vault's list. */
async function listed(): Promise<Map<string, string>> {
  const { files } = (await world.caller.call("list_file")).json() as {
    files: { filename: string; sha256: string }[];
  };
  return new Map(files.map((file) => [file.filename, file.sha256]));
}

function inConfigMap(object: ObservedObject, key: string): Buffer | undefined {
  const text = object.data[key];
  if (text !== undefined) return Buffer.from(text);
  return object.binaryData[key] === undefined
    ? undefined
    : Buffer.from(object.binaryData[key], "base64");
}

const downloads = (): Promise<number> =>
  world.vault.metric('vaultsync_vault_requests_total{operation="download_file",status="200"}');

test("resources report SourceMissing for an empty vault", async () => {
  await world.apply(
    vaultFile("none", [{ filename: "none.txt" }], { kind: "ConfigMap" }),
    vaultSecret("none", { none: "none" }),
  );
  await world.untilReason("VaultFile", "none", "SourceMissing");
  await world.untilReason("VaultSecret", "none", "SourceMissing");
  expect(await world.get("ConfigMap", "none")).toBeUndefined();
});

test("text and binary files are stored in a ConfigMap and in a Secret byte for byte", async () => {
  const text = Buffer.from(`# ${world.canaries.text("text file")}\r\nlisten 80; # ü\n`);
  const binary = Buffer.concat([
    Buffer.from([0, 0xff, 0xfe, 0x80]),
    world.canaries.bytes("binary file", 5000),
  ]);
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
  await world.until(
    "ConfigMap",
    "web-conf",
    (config) => config.data["nginx.conf"] === next.toString(),
  );
  await world.until(
    "Secret",
    "web-secret",
    (secret) => bytesOf(secret, "nginx.conf")?.equals(next) === true,
  );
  // Two resources use the same version: it is fetched once.
  expect((await downloads()) - before).toBe(1);
});

test("an external change of the ConfigMap is reverted", async () => {
  const patch = JSON.stringify({ data: { "nginx.conf": "broken", extra: "x" } });
  await world.plane.kubectl(["patch", "configmap", "web-conf", "--type=merge", "-p", patch], {
    namespace: world.namespace,
  });
  const atVault = await listed();
  const config = await world.until(
    "ConfigMap",
    "web-conf",
    (one) => one.data["nginx.conf"] !== "broken",
  );
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
  const resource = await world.untilReason("VaultFile", "over", "TooLarge");
  expect(condition(resource, "Ready")?.message).toMatch(/1048577 bytes.*1048576/);
  expect(condition(resource, "Stalled")?.status).toBe("True");
  expect(await downloads()).toBe(before);
  expect(await world.get("ConfigMap", "over")).toBeUndefined();
});

test("two files of 1 MiB less a byte are accepted, of a byte more rejected before a download", async () => {
  const half = 512 * 1024;
  await world.upload("first.bin", randomBytes(half - 1));
  await world.upload("second.bin", randomBytes(half));
  const both = [{ filename: "first.bin" }, { filename: "second.bin" }];
  await world.apply(vaultFile("halves", both, { kind: "Secret" }));
  await world.ready("VaultFile", "halves");
  const before = await downloads();
  await world.upload("first.bin", randomBytes(half + 1));
  const resource = await world.untilReason("VaultFile", "halves", "TooLarge");
  expect(condition(resource, "Ready")?.message).toMatch(/1048577 bytes.*1048576/);
  expect(await downloads()).toBe(before);
  expect(bytesOf((await world.get("Secret", "halves"))!, "first.bin")).toHaveLength(half - 1);
});

const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);
const LONG = `${"n".repeat(250)}.txt`;

/** Files by key, and whether a ConfigMap has them as text. */
const FILES: Readonly<Record<string, { filename: string; bytes: Uint8Array; isText: boolean }>> = {
  empty: { filename: "empty", bytes: new Uint8Array(), isText: true },
  "one-byte": { filename: "one", bytes: new Uint8Array([0xff]), isText: false },
  "every-byte": { filename: "every", bytes: everyByte, isText: false },
  "byte-order-mark": { filename: "mark", bytes: Buffer.from("\ufefftext"), isText: true },
  "only-a-mark": { filename: "only-mark", bytes: Buffer.from("\ufeff"), isText: true },
  crlf: { filename: "crlf", bytes: Buffer.from("a\r\n\r\nb"), isText: true },
  nul: { filename: "nul", bytes: Buffer.from("a\0b"), isText: true },
  spaces: { filename: " a name  with spaces ", bytes: Buffer.from("spaces"), isText: true },
  emoji: { filename: "\u{1f680} gr\u00fc\u00df.txt", bytes: Buffer.from("emoji"), isText: true },
  "long-name": { filename: LONG, bytes: Buffer.from("long"), isText: true },
  archive: {
    filename: "archive.tar.gz",
    bytes: Buffer.from("H4sIAAAAAAAAA0tMBAAAAP//", "base64"),
    isText: false,
  },
};

test("files with unusual bytes and names are stored byte for byte, and archives are not unpacked", async () => {
  for (const { filename, bytes } of Object.values(FILES)) await world.upload(filename, bytes);
  const files = Object.entries(FILES).map(([key, { filename }]) => ({ filename, key }));
  await world.apply(
    vaultFile("bytes", files, { kind: "ConfigMap" }),
    vaultFile("bytes-secret", files, { kind: "Secret" }),
  );
  await world.ready("VaultFile", "bytes");
  await world.ready("VaultFile", "bytes-secret");
  const config = (await world.get("ConfigMap", "bytes"))!;
  const secret = (await world.get("Secret", "bytes-secret"))!;
  const texts = Object.keys(FILES).filter((key) => FILES[key]?.isText);
  expect(Object.keys(config.data).sort()).toEqual(texts.sort());
  expect(Object.keys(config.binaryData)).toHaveLength(files.length - texts.length);
  expect(Object.keys(secret.data)).toHaveLength(files.length);
  for (const [key, { bytes }] of Object.entries(FILES)) {
    expect(Buffer.compare(inConfigMap(config, key)!, bytes), key).toBe(0);
    expect(Buffer.compare(bytesOf(secret, key)!, bytes), key).toBe(0);
  }
});

test("a name with slashes is its last part at this vault, and requires a key", async () => {
  await world.upload("folder/inner.txt", Buffer.from("inner"));
  expect([...(await listed()).keys()]).toContain("inner.txt");
  const { code, stderr } = await world.tryApply(
    vaultFile("slashes", [{ filename: "folder/inner.txt" }], { kind: "ConfigMap" }),
  );
  expect(code).toBe(1);
  expect(stderr).toEqual(expect.stringContaining("the filename is not a valid key: set key"));
  const long = await world.tryApply(vaultFile("long", [{ filename: LONG }], { kind: "ConfigMap" }));
  expect(long.code).toBe(1);
  expect(long.stderr).toEqual(expect.stringContaining("the filename is not a valid key: set key"));
  await world.apply(
    vaultFile("slashes", [{ filename: "folder/inner.txt", key: "inner" }], { kind: "ConfigMap" }),
  );
  await world.untilReason("VaultFile", "slashes", "SourceMissing");
});

test("a missing file is reported and synced once it exists", async () => {
  await world.apply(vaultFile("later", [{ filename: "later.txt" }], { kind: "ConfigMap" }));
  await world.untilReason("VaultFile", "later", "SourceMissing");
  expect(await world.get("ConfigMap", "later")).toBeUndefined();
  await world.upload("later.txt", Buffer.from("here now\n"));
  await world.ready("VaultFile", "later");
});

test("no file content appears in logs, events, statuses, annotations or metrics", async () => {
  expect(world.canaries.tracesIn(await world.operatorOutput())).toEqual([]);
});
