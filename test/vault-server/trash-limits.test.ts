import { expect, test } from "vitest";
import { defaultQuotas } from "../../src/vault/server/limits.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";

const START = Date.UTC(2026, 10, 21);

const named = (word: string, count: number, end = ""): string[] =>
  Array.from({ length: count }, (_, index) => `${word} ${index}${end}`);

async function upload(caller: VaultClient, names: readonly string[]): Promise<void> {
  for (let from = 0; from < names.length; from += 100) {
    const part = names.slice(from, from + 100);
    const files = part.map((filename) => ({ filename, bytes: Buffer.from(filename) }));
    expect((await caller.upload(files)).outcome()).toBe("200");
  }
}

async function protect(caller: VaultClient, names: readonly string[]): Promise<void> {
  for (const key_name of names)
    expect((await caller.call("protect", { key_name, key_value: "v" })).outcome()).toBe("200");
}

const namesInTrash = async (caller: VaultClient): Promise<string[]> =>
  (await caller.call("trash_list")).json().trash.map(({ name }: { name: string }) => name);

test("a request that deletes many leaves no more in the trash than the quota", async () => {
  const limits = { quotas: { ...defaultQuotas, trash: 2 }, requestBurst: 10_000 };
  await using vault = await TestVault.start({ trashDays: 30, limits });
  const ann = await vault.client("ann@example.com");
  // More than an earlier request would have removed.
  const all = named("name", 600);
  await upload(ann, all);
  expect((await ann.call("delete_all_files")).json()).toEqual({ deleted: 600 });
  expect((await ann.call("list_file")).json().files).toEqual([]);
  expect(await namesInTrash(ann)).toHaveLength(2);
  await protect(ann, all);
  expect((await ann.call("delete", { key_name: all })).json().deleted).toHaveLength(600);
  expect(await namesInTrash(ann)).toHaveLength(2);
});

test("a long trash is listed in parts, the newest first, and counts by its length", async () => {
  const clock = new VirtualClock(START);
  const limits = { requestsPerSecond: 1, requestBurst: 40 };
  await using vault = await TestVault.start({ trashDays: 30, clock, limits });
  const ann = await vault.client("ann@example.com", undefined, 1_000);
  const long = "x".repeat(240);
  await upload(ann, named("older", 300, long));
  await ann.call("delete_all_files");
  await clock.advance(1);
  await protect(ann, named("between", 10));
  await ann.call("delete", { key_name: named("between", 10) });
  await clock.advance(1);
  await upload(ann, named("newer", 500, long));
  await ann.call("delete_all_files");
  await clock.advance(100_000);
  const listed = await namesInTrash(ann);
  expect(listed.map((name) => name.split(" ", 1)[0])).toEqual([
    ...Array<string>(500).fill("newer"),
    ...Array<string>(10).fill("between"),
    ...Array<string>(300).fill("older"),
  ]);
  expect(new Set(listed).size).toBe(810);
  // Each list of 370 KB counts as two requests.
  for (let left = 19; left > 0; left -= 1)
    expect((await ann.call("trash_list")).outcome()).toBe("200");
  expect((await ann.call("trash_list")).outcome()).toBe("429 rate_limited");
});
