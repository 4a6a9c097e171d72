import { expect, test } from "vitest";
import { referencesTo } from "../../../../test/support/vault/vault-connection.ts";
import { json, raw } from "../../../../test/support/vault/scripted-server.ts";
import {
  listedSecret,
  listResponse,
  nextList,
  recordOf,
  requestsEnded,
  ScriptedVault,
} from "../../../../test/support/vault/scripted-vault.ts";

test("the removal of a secret at its delete time is listed immediately", async () => {
  const vault = await ScriptedVault.start();
  const clockStart = Date.UTC(2026, 10, 21);
  vault.on(
    "list_no_dup",
    listResponse(listedSecret("a", 1, { delete_at: clockStart + 10_000 }), listedSecret("b")),
    listResponse(listedSecret("b")),
  );
  const observed = await vault.connected();
  await observed.clock.advance(10_019);
  expect(vault.count("list_no_dup")).toBe(1);
  await nextList(observed, 1);
  expect(observed.changes[1]).toEqual({ secrets: ["a"], files: [] });
});

test("a secret listed after its delete time is listed again with backoff", async () => {
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    listResponse(listedSecret("a", 1, { delete_at: Date.UTC(2026, 10, 20) })),
  );
  const observed = await vault.connected();
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 8; poll += 1) {
    const wait = observed.clock.nextIn ?? 0;
    waits.push(wait);
    await nextList(observed, wait);
  }
  expect(waits).toEqual([6_000, 6_000, 6_000, 6_000, 12_000, 24_000, 45_000, 45_000]);
});

test("the backoff for removals restarts with the next overdue secret", async () => {
  const late = { delete_at: Date.UTC(2026, 10, 20) };
  const vault = (await ScriptedVault.start()).on(
    "list_no_dup",
    ...Array.from({ length: 6 }, () => listResponse(listedSecret("a", 1, late))),
    listResponse(),
    listResponse(listedSecret("b", 1, late)),
  );
  const observed = await vault.connected();
  const waits: (number | undefined)[] = [];
  for (let poll = 0; poll < 8; poll += 1) {
    waits.push(observed.clock.nextIn);
    await nextList(observed, observed.clock.nextIn ?? 0);
  }
  expect(waits).toEqual([6_000, 6_000, 6_000, 6_000, 12_000, 24_000, 60_000, 6_000]);
});

test("files are listed only while one is referenced", async () => {
  const file = { filename: "f.bin", version: 1, size: 3 };
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")))
    .on("list_file", json({ files: [file] }));
  const observed = await vault.connected();
  expect(vault.count("list_file")).toBe(0);
  observed.connection.setReferences(referencesTo([], ["f.bin"]));
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  expect(observed.changes[1]).toEqual({ secrets: [], files: ["f.bin"] });
  observed.connection.setReferences(referencesTo(["a"]));
  await nextList(observed, 60_000);
  expect(vault.count("list_file")).toBe(1);
  expect(observed.connection.snapshot?.fileCount).toBeUndefined();
});

test("a failed list of files keeps the files and does not delay the secrets", async () => {
  const file = { filename: "f.bin", version: 1, size: 3 };
  const vault = (await ScriptedVault.start())
    .on("list_no_dup", listResponse(listedSecret("a")), listResponse(listedSecret("a", 2)))
    .on("list_file", json({ files: [file] }), raw("<html>", 200));
  const observed = await vault.connected({ references: referencesTo(["a"], ["f.bin"]) });
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  observed.connection.pollSoon();
  await observed.clock.advance(1_000);
  await expect.poll(() => observed.connection.health.state).toBe("failing");
  expect(observed.connection.health.error).toMatchObject({ operation: "list_file", field: "files" });
  await requestsEnded(observed, "list_no_dup", 2);
  expect(recordOf(observed, "a").version).toBe(2);
  expect(observed.connection.snapshot?.file("f.bin")).toMatchObject(file);
  // Files again after 0.75 s, 1.5 s, …; secrets once per interval.
  for (let second = 0; second < 60; second += 1) await observed.clock.advance(1_000);
  expect([vault.count("list_file"), vault.count("list_no_dup")]).toEqual([8, 3]);
  vault.on("list_file", json({ files: [] }));
  for (let second = 0; second < 60; second += 1) await observed.clock.advance(1_000);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy", "failing", "healthy"]);
});
