import { existsSync } from "node:fs";
import { rm, stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { silentLogger } from "../../src/lib/logger.ts";
import type { VaultServerOptions } from "../../src/vault/server/vault-server.ts";
import { createLogger } from "../../src/telemetry/create-logger.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { sendRequest } from "../lab/vault/vault-client.ts";

const ann = "ann@example.com";
const bob = "bob@example.com";
const LOW = 1_000_000;
const SAMPLED_MS = 5000;
const directory = new TestDirectory();
const reserve = (): string => directory.join("vault.db-reserve");

interface Disk {
  free: number;
  readonly clock: VirtualClock;
}

/** Starts a server on a data file, whose disk has as much space as `disk` says. */
function start(disk: Disk, options: Partial<VaultServerOptions> = {}): Promise<TestVault> {
  return TestVault.start({
    data: directory.join("vault.db"),
    auditLog: { file: directory.join("audit.jsonl") },
    lowSpace: { bytes: LOW, freeBytes: async () => disk.free },
    clock: disk.clock,
    logger: silentLogger,
    ...options,
  });
}

async function becomes(disk: Disk, free: number, vault: TestVault): Promise<void> {
  disk.free = free;
  await disk.clock.advance(SAMPLED_MS);
  await expect.poll(() => vault.metric('vaultsync_vault_free_bytes{volume="data"}')).toBe(free);
}

test("warnings about disk space name the volume and its sizes", async () => {
  let log = "";
  const logger = createLogger({
    name: "vault",
    level: "info",
    destination: { write: (line) => void (log += line) },
  });
  const disk = { free: 10 * LOW, clock: new VirtualClock() };
  await using vault = await start(disk, { logger });
  const low = (): Promise<number | undefined> =>
    vault.metric('vaultsync_vault_low_space{volume="data"}');
  expect(await low()).toBe(0);
  expect(await vault.metric('vaultsync_vault_low_space_bytes{volume="data"}')).toEqual(LOW);
  await becomes(disk, LOW - 1, vault);
  expect(await low()).toBe(1);
  expect(log).toContain(`"volume":"data","directory":"${directory.path}","free":${LOW - 1}`);
  expect(log).not.toContain("[redacted]");
});

test("with low disk space, deleted secrets go to the trash, and the trash can be emptied", async () => {
  const disk = { free: 10 * LOW, clock: new VirtualClock() };
  await using vault = await start(disk, { trashDays: 30 });
  const caller = await vault.client(ann);
  for (const key_name of ["a", "b", "c"])
    await caller.call("protect", { key_name, key_value: "x" });
  await becomes(disk, LOW - 1, vault);
  const { trash } = (await caller.call("delete", { key_name: ["a", "b", "c"] })).json();
  expect((await caller.call("trash_delete", { id: trash[0].id })).outcome()).toBe("200");
  expect((await caller.call("trash_restore", { id: trash[1].id })).outcome()).toBe("200");
  expect((await caller.call("trash_empty")).json()).toEqual({ deleted: 1 });
  // More than an account that frees nothing may send.
  for (let request = 0; request < 30; request += 1)
    expect((await caller.call("trash_empty")).outcome()).toBe("200");
});

test("with low disk space, the largest entries of the trash end early", async () => {
  const disk = { free: 10 * LOW, clock: new VirtualClock() };
  await using vault = await start(disk, { trashDays: 30 });
  const caller = await vault.client(ann);
  const small = Array.from({ length: 9 }, (_, n) => `small-${n}`);
  for (const key_name of [...small, "kept"])
    await caller.call("protect", { key_name, key_value: "x" });
  for (const filename of ["large", "larger"])
    await caller.upload([{ filename, bytes: Buffer.alloc(filename.length * 1000) }]);
  await caller.call("delete_all_files");
  const names = async () =>
    (await caller.call("trash_list")).json().trash.map(({ name }: { name: string }) => name);
  await caller.call("delete", { key_name: small });
  await disk.clock.advance(1);
  await caller.call("delete", { key_name: "kept" });
  await becomes(disk, LOW - 1, vault);
  await disk.clock.advance(5000);
  // A sweep ends the two files, and eight of the secrets.
  await expect.poll(async () => (await names()).length).toBe(2);
  expect(await names()).toContain("kept");
});

test("with low disk space, what adds data is rejected; reads, logins and deletions are served", async () => {
  const disk = { free: 10 * LOW, clock: new VirtualClock() };
  await using vault = await start(disk);
  const caller = await vault.client(ann);
  for (const key_name of ["a", "b"]) await caller.call("protect", { key_name, key_value: "x" });
  await caller.upload([{ filename: "f", bytes: Buffer.from("x") }]);
  await caller.call("team_create", { group_id: "ops", members: [bob] });
  await caller.call("share", { key_name: "b", usr_id_from: ann, usr_id_to: bob, permission: "R" });
  await becomes(disk, LOW - 1, vault);

  const grows = [
    ["protect", { key_name: "a", key_value: "y" }],
    ["protect_link", { key_name: "b", key_value: "y" }],
    ["update_key_metadata", { key_name: "a", key_version: 1, metadata: { note: "y" } }],
    ["share", { key_name: "a", usr_id_from: ann, usr_id_to: bob, permission: "R" }],
    ["team_create", { group_id: "dev", members: [bob] }],
    ["team_add_members", { group_id: "ops", members: [bob] }],
  ] as const;
  for (const [operation, body] of grows) {
    const response = await caller.call(operation, body);
    expect(response.outcome(), operation).toBe("503 unavailable");
    expect(response.headers["retry-after"], operation).toBe("10");
    expect(response.json().error.message).toContain("low on disk space");
  }
  expect((await caller.upload([{ filename: "g", bytes: Buffer.from("y") }])).outcome()).toBe(
    "503 unavailable",
  );

  expect((await sendRequest(`${vault.url}/readyz`, { method: "GET" })).status).toBe(200);
  const again = await vault.client(ann);
  expect((await again.call("expose", { key_name: "a" })).json().key_value).toBe("x");
  expect((await again.call("list_file")).json().files).toHaveLength(1);
  for (const [operation, body] of [
    ["delete", { key_name: "a" }],
    ["delete_file", { filename: "f" }],
    ["unshare", { key_name: "b" }],
    ["team_delete", { group_id: "ops" }],
  ] as const) {
    expect((await again.call(operation, body)).outcome(), operation).toBe("200");
  }

  await becomes(disk, 10 * LOW, vault);
  expect((await caller.call("protect", { key_name: "a", key_value: "z" })).outcome()).toBe("200");
});

test("callers without credentials learn nothing about the disk", async () => {
  const disk = { free: 0, clock: new VirtualClock() };
  await using vault = await start(disk);
  const response = await vault.post("/v1/user/secret/protect", {
    email: ann,
    key_name: "a",
    key_value: "x",
  });
  expect(response.outcome()).toBe("401 invalid_token");
});

test("space of deleted values within the data file counts, unless the disk is almost full", async () => {
  const disk = { free: 10 * LOW, clock: new VirtualClock() };
  await using vault = await start(disk);
  const caller = await vault.client(ann);
  const protect = async (key_name: string, key_value = "x"): Promise<string> =>
    (await caller.call("protect", { key_name, key_value })).outcome();
  expect(await protect("a", "x".repeat(LOW))).toBe("200");
  await becomes(disk, LOW / 2, vault);
  expect(await protect("b")).toBe("503 unavailable");
  expect((await caller.call("delete", { key_name: "a" })).outcome()).toBe("200");
  await becomes(disk, LOW / 2 + 1, vault);
  expect(await protect("b")).toBe("200");
  await becomes(disk, LOW / 4 - 1, vault);
  expect(await protect("c")).toBe("503 unavailable");
});

test("requests that would use up the space are rejected without waiting for the next sample", async () => {
  const disk = { free: 10 * LOW, clock: new VirtualClock() };
  await using vault = await start(disk);
  const caller = await vault.client(ann);
  await becomes(disk, 10 * LOW + 1, vault);
  disk.free = LOW;
  const protect = async (): Promise<string> =>
    (await caller.call("protect", { key_name: "a", key_value: "x".repeat(LOW) })).outcome();
  const outcomes = [
    await protect(),
    await protect(),
    await protect(),
    await protect(),
    await protect(),
  ];
  expect(outcomes).toEqual(["200", "200", "200", "200", "503 unavailable"]);
});

test("the reserve is released when the audit log cannot be written, and comes back", async () => {
  const disk = { free: 10 * LOW, clock: new VirtualClock() };
  await using vault = await start(disk);
  const caller = await vault.client(ann);
  await caller.call("protect", { key_name: "a", key_value: "x" });
  const { size, blocks, mode } = await stat(reserve());
  expect(size).toEqual(8 * 1024 * 1024);
  expect(blocks * 512 >= size).toBe(true);
  expect(mode & 0o777).toEqual(0o600);

  // The full disk stands for another failure of the log: it is opened again at the second attempt.
  await becomes(disk, 0, vault);
  await rm(directory.join("audit.jsonl"));
  expect((await caller.call("delete", { key_name: "a" })).outcome()).toBe("200");
  expect(existsSync(reserve())).toBe(false);

  await becomes(disk, 10 * LOW, vault);
  await expect.poll(() => existsSync(reserve())).toBe(true);
});

test("a failure with space left keeps the reserve", async () => {
  const disk = { free: 10 * LOW, clock: new VirtualClock() };
  await using vault = await start(disk);
  const caller = await vault.client(ann);
  await rm(directory.join("audit.jsonl"));
  expect((await caller.call("list_no_dup")).outcome()).toBe("503 unavailable");
  expect(existsSync(reserve())).toBe(true);
});
