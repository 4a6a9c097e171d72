import { randomBytes } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData } from "../lab/vault/vault-data.ts";
import { useVault } from "../lab/vault/use-vault.ts";
import { nameSequence, download } from "../lab/vault/requests.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";

const data = await createVaultData();
afterAll(() => data[Symbol.asyncDispose]());
const { ann, bob } = await useVault({ data: data.location, masterKey: generateMasterKey() });
const freshName = nameSequence("doomed", ".bin");

async function fresh(caller: VaultClient, ...contents: string[]): Promise<string> {
  const filename = freshName();
  for (const content of contents) await caller.upload([{ filename, bytes: Buffer.from(content) }]);
  return filename;
}
const remove = (caller: VaultClient, filename: unknown, more = {}) =>
  caller.call("delete_file", { filename, ...more });
const versions = async (caller: VaultClient, filename: string) =>
  (await caller.call("list_file"))
    .json()
    .files.find((file: { filename: string }) => file.filename === filename)
    ?.versions.map(({ version }: { version: number }) => version);
/** Returns the number of stored chunks. */
async function chunks(): Promise<number> {
  return (
    await data.select(
      "SELECT position FROM file_chunks WHERE blob_id NOT IN (SELECT blob_id FROM staged_blobs)",
    )
  ).length;
}

describe("delete_file", () => {
  test.each([
    { filename: undefined },
    { filename: "" },
    { filename: ["a"] },
    { version: "1" },
    { version: 0 },
  ])("rejects a body with %j", async (body) => {
    const filename = await fresh(ann, "1");
    expect((await remove(ann, filename, body)).outcome()).toBe("400 invalid_request");
    expect(await versions(ann, filename)).toEqual([1]);
  });

  test("keeps a file and its versions when expected_version is not the latest one", async () => {
    const filename = await fresh(ann, "1", "2");
    for (const more of [{}, { permanently: true }, { version: 1 }]) {
      const response = await remove(ann, filename, { ...more, expected_version: 1 });
      expect(response.outcome()).toBe("409 version_changed");
      expect(await versions(ann, filename)).toEqual([1, 2]);
    }
    expect((await remove(ann, filename, { expected_version: 2 })).outcome()).toBe("200");
  });

  test("responds not found for unknown names and versions and for other users' files", async () => {
    const filename = await fresh(ann, "1");
    expect((await remove(ann, "nowhere")).outcome()).toBe("404 file_not_found");
    expect((await remove(bob, filename)).outcome()).toBe("404 file_not_found");
    expect((await remove(ann, filename, { version: 2 })).outcome()).toBe("404 version_not_found");
    expect(await versions(ann, filename)).toEqual([1]);
  });

  test("deletes one version; the next lower one becomes the latest and no number is reused", async () => {
    const filename = await fresh(ann, "one", "two", "three");
    const response = await remove(ann, filename, { version: 3 });
    expect(response.outcome()).toBe("200");
    expect(response.json()).toEqual({ deleted: { filename, versions: [3] } });
    expect((await download(ann, filename)).bytes.toString()).toBe("two");
    expect((await download(ann, filename, { version: 3 })).outcome()).toBe("404 version_not_found");
    expect((await remove(ann, filename, { version: 1 })).outcome()).toBe("200");
    await ann.upload([{ filename, bytes: Buffer.from("four") }]);
    expect(await versions(ann, filename)).toEqual([2, 4]);
  });

  test("without a version deletes all versions, and the name restarts at version 1", async () => {
    const filename = await fresh(ann, "one", "two", "three");
    await remove(ann, filename, { version: 2 });
    expect((await remove(ann, filename)).json()).toEqual({
      deleted: { filename, versions: [1, 3] },
    });
    expect((await download(ann, filename)).outcome()).toBe("404 file_not_found");
    await ann.upload([{ filename, bytes: Buffer.from("new") }]);
    expect(await versions(ann, filename)).toEqual([1]);
  });

  test("deleting the only version deletes the file", async () => {
    const filename = await fresh(ann, "one", "two");
    await remove(ann, filename, { version: 1 });
    expect((await remove(ann, filename, { version: 2 })).json()).toEqual({
      deleted: { filename, versions: [2] },
    });
    expect((await download(ann, filename)).outcome()).toBe("404 file_not_found");
    await ann.upload([{ filename, bytes: Buffer.from("new") }]);
    expect(await versions(ann, filename)).toEqual([1]);
  });

  test("removes the bytes of that version only", async () => {
    const filename = await fresh(ann);
    const before = await chunks();
    const bytes = randomBytes(600_000);
    for (const caller of [ann, ann, bob]) await caller.upload([{ filename, bytes }]);
    expect((await chunks()) - before).toBe(9);
    await remove(ann, filename, { version: 1 });
    expect((await chunks()) - before).toBe(6);
    await remove(ann, filename);
    expect((await chunks()) - before).toBe(3);
    expect((await download(bob, filename)).bytes.equals(bytes)).toBe(true);
  });
});

describe("delete_all_files", () => {
  test("removes all files of the caller only and returns their number", async () => {
    await ann.call("delete_all_files");
    const kept = await fresh(bob, "bob's");
    const known = await chunks();
    await fresh(ann, "1", "2", "3");
    await fresh(ann, "1");
    expect((await ann.call("delete_all_files")).json()).toEqual({ deleted: 2 });
    expect((await ann.call("list_file")).json()).toEqual({ files: [] });
    expect((await download(bob, kept)).bytes.toString()).toBe("bob's");
    expect(await chunks()).toBe(known);
    expect((await ann.call("delete_all_files")).json()).toEqual({ deleted: 0 });
  });
});
