import { describe, expect, test } from "vitest";
import type { FileVersion } from "../../../src/vault/server/store/records.ts";
import type { ListedVersion } from "../../../src/vault/server/store/tables/file-table.ts";
import {
  ANN,
  BOB,
  envelope,
  NOW,
  SORTED_NAMES,
  useStore,
  textOf,
} from "../../lab/vault/use-store.ts";

const version = (number: number, blobId: string): FileVersion => ({
  version: number,
  size: 2 ** 40,
  createdAt: NOW + 0.25,
  blobId,
  digest: envelope(blobId),
});

describe("the files of a store", () => {
  const { write, read } = useStore();
  const chunk = async (blobId: string, index: number) =>
    textOf(await read(({ files }) => files.chunk(blobId, index)));
  const discardStale = async (timestamp: number, atMost = 9): Promise<number> => {
    let steps = 0;
    while (await write(({ files }) => files.discardStale(timestamp, atMost))) steps += 1;
    return steps;
  };
  const stage = (blobId: string, now = NOW) =>
    write(async ({ files }) => {
      await files.stage(blobId, ANN, now);
      await files.putChunk(blobId, 0, Buffer.from(`${blobId} 0`));
      await files.putChunk(blobId, 1, Buffer.from(`${blobId} 1`));
    });

  test("a staged blob becomes a version; its chunks are read by index", async () => {
    await stage("b1");
    await write(async ({ files }) => {
      await files.insert({ id: "f", owner: ANN, name: "a", nextVersion: 1 });
      await files.insertVersion("f", version(1, "b1"));
      await files.update({ id: "f", owner: ANN, name: "a", nextVersion: 2 });
    });
    expect(await read(({ files }) => files.find(ANN, "a"))).toEqual({
      id: "f",
      owner: ANN,
      name: "a",
      nextVersion: 2,
    });
    expect(await read(({ files }) => files.find(BOB, "a"))).toBeUndefined();
    const found = await read(({ files }) => files.latest("f"));
    expect(found).toMatchObject({ version: 1, size: 2 ** 40, createdAt: NOW + 0.25, blobId: "b1" });
    expect(textOf(found?.digest.sealed)).toBe("b1");
    expect(await chunk("b1", 0)).toBe("b1 0");
    expect(await chunk("b1", 1)).toBe("b1 1");
    expect(await chunk("b1", 2)).toBeUndefined();
    // It is no longer stale.
    expect(await write(({ files }) => files.discardStale(NOW + 1, 9))).toBe(false);
    expect(await write(({ files }) => files.discard(["b1"]))).toBe(0);
    expect(await chunk("b1", 0)).toBe("b1 0");
  });

  test("staged blobs without a version are discarded by id or age", async () => {
    for (const [blobId, at] of [
      ["old", NOW - 2],
      ["new", NOW],
      ["given-up", NOW],
    ] as const)
      await stage(blobId, at);
    expect(await write(({ files }) => files.discard(["given-up", "none"]))).toBe(1);
    // A chunk at a time, then the blob.
    expect(await discardStale(NOW, 1)).toBe(3);
    expect(await chunk("old", 0)).toBeUndefined();
    expect(await chunk("given-up", 1)).toBeUndefined();
    expect(await chunk("new", 1)).toBe("new 1");
    expect(await write(({ files }) => files.discard([]))).toBe(0);
  });

  test("files are listed in code point order; versions and files are removed with their bytes", async () => {
    await write(async ({ files }) => {
      for (const name of SORTED_NAMES.toReversed())
        await files.insert({ id: `id ${name}`, owner: ANN, name, nextVersion: 1 });
    });
    for (const [number, blobId] of [
      [2, "b2"],
      [1, "b1"],
      [10, "b10"],
    ] as const) {
      await stage(blobId);
      await write(({ files }) => files.insertVersion("id a", version(number, blobId)));
    }
    await stage("b3");
    await write(({ files }) => files.insertVersion("id ", version(3, "b3")));
    const list = (after?: ListedVersion, atMost = 100) =>
      read(({ files }) => files.list(ANN, after, atMost));
    const all = await list();
    const named = all.map(({ file, version: { version: number } }) => `${file.name} ${number}`);
    expect(named).toEqual([" 3", "a 1", "a 2", "a 10"]);
    for (const [index, listed] of all.entries())
      expect((await list(listed, 2)).length).toBe(Math.min(2, 3 - index));
    const names = async (after: string, atMost: number) =>
      (await read(({ files }) => files.named(ANN, after, atMost))).map(({ name }) => name);
    // No file has an empty name.
    expect(await names("", 100)).toEqual(SORTED_NAMES.slice(1));
    expect(await names(SORTED_NAMES[1]!, 2)).toEqual(SORTED_NAMES.slice(2, 4));
    expect(await read(({ files }) => files.list(BOB, undefined, 100))).toEqual([]);
    await write(({ files }) => files.removeVersion("id a", 2));
    expect(await read(({ files }) => files.versions("id a", 0, 10))).toEqual([1, 10]);
    await discardStale(1);
    expect(await chunk("b2", 0)).toBeUndefined();
    expect(await chunk("b1", 0)).toBe("b1 0");
    expect(await read(({ files }) => files.version("id a", 2))).toBeUndefined();
    await write(({ files }) => files.remove("id a"));
    await discardStale(1);
    expect(await chunk("b1", 0)).toBeUndefined();
    expect(await chunk("b10", 1)).toBeUndefined();
    expect(await read(({ files }) => files.find(ANN, "a"))).toBeUndefined();
    expect(await read(({ files }) => files.versions("id a", 0, 10))).toEqual([]);
  });

  test("a retired file, also one in the trash, is gone, and its versions are removed in parts", async () => {
    await write(async ({ files, trash }) => {
      for (const [id, name] of [
        ["f1", "a"],
        ["f2", "b"],
      ] as const) {
        await files.insert({ id, owner: ANN, name, nextVersion: 4 });
        for (const number of [1, 2, 3])
          await files.insertVersion(id, { ...version(number, `${id} ${number}`), size: 1 });
      }
      await trash.put("file", "f2", NOW, NOW + 1);
      for (const id of ["f1", "f2"]) await files.retire(id);
    });
    expect(await read(({ files }) => files.find(ANN, "a"))).toBeUndefined();
    expect(await read(({ files }) => files.list(ANN, undefined, 9))).toEqual([]);
    expect(await read(({ trash }) => trash.list("file", ANN, undefined, NOW, 9))).toEqual([]);
    expect(await read(({ trash }) => trash.find(ANN, "f2", NOW))).toBeUndefined();
    expect(await read(({ trash }) => trash.oldest(ANN, 9))).toEqual([]);
    const none = { files: 0, versions: 0, bytes: 0 };
    expect(await read(({ trash }) => trash.usage(ANN))).toMatchObject(none);
    expect(await read(({ trash }) => trash.ended(NOW, 9))).toEqual([
      { kind: "file", id: "f1", retired: true },
      { kind: "file", id: "f2", retired: true },
    ]);
    const removed = [];
    for (const atMost of [2, 2]) {
      const some = await write(({ files }) => files.removeVersions("f2", atMost));
      removed.push(some, await read(({ usage }) => usage.of(ANN)));
    }
    expect(removed).toMatchObject([2, { versions: 4, bytes: 4 }, 1, { versions: 3, bytes: 3 }]);
    await write(({ files }) => files.remove("f2"));
    expect(await read(({ trash }) => trash.ended(NOW, 9))).toHaveLength(1);
  });
});
