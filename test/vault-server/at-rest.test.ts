import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { everyByte, createVaultData, type VaultData } from "../lab/vault/vault-data.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { operationPath } from "../../src/protocol/operation-paths.ts";
import { createLogger } from "../../src/telemetry/create-logger.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { startVaultServer } from "../../src/vault/server/vault-server.ts";

const canary = "canary-value-3f9a1c77";
const masterKey = generateMasterKey();
let stored: VaultData;
let data: string;
beforeEach(async () => {
  stored = await createVaultData();
  data = stored.location;
});
afterEach(() => stored[Symbol.asyncDispose]());

async function alter(sql: string, ...values: (string | number | Uint8Array)[]): Promise<void> {
  expect(await stored.change(sql, ...values)).toBeGreaterThan(0);
}

const select = (sql: string) => stored.select(sql);

test("no value, file, password or token is readable in stored data or logs", async () => {
  let log = "";
  const logger = createLogger({
    name: "vault",
    level: "debug",
    destination: { write: (line) => void (log += line) },
  });
  await using vault = await TestVault.start({ data, masterKey, logger });
  const ann = await vault.client("ann@example.com");
  await ann.call("protect", { key_name: "a", key_value: canary });
  await ann.call("expose", { key_name: "a" });
  await ann.upload([{ filename: "f", bytes: Buffer.from(canary) }]);
  await ann.call("list_no_dup", {}, { authorization: `Bearer ${canary}` });
  await ann.call("protect", { key_name: `\n${canary}`, key_value: canary });
  const letters = await everyByte(vault.mailDirectory ?? "");
  const written = Buffer.concat([await stored.written(), letters]);
  expect(written.length).toBeGreaterThan(10_000);
  expect(log).toContain("completed request");
  for (const text of [canary, ann.token, vault.passwords.get("ann@example.com") ?? ""]) {
    for (const encoded of [
      text,
      Buffer.from(text).toString("base64").slice(0, -4),
      Buffer.from(text).toString("hex"),
    ]) {
      expect(written.includes(encoded)).toBe(false);
      expect(log.includes(encoded)).toBe(false);
    }
  }
});

test("a restart with the same key keeps all data and tokens; another key is rejected", async () => {
  let token: string;
  {
    await using vault = await TestVault.start({ data, masterKey });
    const ann = await vault.client("ann@example.com");
    token = ann.token;
    await ann.call("protect", { key_name: "kept", key_value: canary });
    await ann.upload([{ filename: "f", bytes: Buffer.from(canary) }]);
  }
  const other = { listen: { host: "127.0.0.1", port: 0 }, data, masterKey: generateMasterKey() };
  await expect(startVaultServer(other)).rejects.toThrow("another master key");
  await using again = await startVaultServer({ ...other, masterKey });
  const ann = new VaultClient(again.url, "ann@example.com", { token });
  expect((await ann.call("expose", { key_name: "kept" })).json().key_value).toBe(canary);
  expect((await ann.call("download_file", { filename: "f" })).bytes.toString()).toBe(canary);
});

test("a server without a master key starts in development only", async () => {
  await expect(startVaultServer({ listen: { host: "127.0.0.1", port: 0 }, data })).rejects.toThrow(
    "missing master key",
  );
});

test("data of a newer release is rejected", async () => {
  await (await TestVault.start({ data, masterKey }))[Symbol.asyncDispose]();
  await stored.pretendNewer();
  await expect(TestVault.start({ data, masterKey, dev: { users: [] } })).rejects.toThrow(
    "newer release",
  );
});

test("swapped or altered rows are rejected with an internal error without a reason", async () => {
  await using vault = await TestVault.start({ data, masterKey });
  const ann = await vault.client("ann@example.com");
  const bob = await vault.client("bob@example.com");
  for (const [caller, name] of [
    [ann, "mine"],
    [ann, "other"],
    [bob, "bobs"],
  ] as const) {
    await caller.call("protect", { key_name: name, key_value: `${canary}-${name}` });
    await caller.upload([{ filename: name, bytes: Buffer.from(`${canary}-${name}`) }]);
  }
  const row =
    "SELECT v.key_id, v.wrapped_key, v.sealed FROM secret_versions v JOIN secrets s ON s.id = v.secret_id WHERE s.name =";
  for (const from of ["other", "bobs"]) {
    await alter(
      `UPDATE secret_versions SET (key_id, wrapped_key, sealed) = (${row} '${from}')
       WHERE secret_id = (SELECT id FROM secrets WHERE name = 'mine')`,
    );
    const response = await ann.call("expose", { key_name: "mine" });
    expect(response.status).toBe(500);
    expect(response.code()).toBe("internal");
    expect(response.bytes.toString()).not.toContain(canary);
  }
  await alter("UPDATE secrets SET name = 'renamed' WHERE name = 'other'");
  expect((await ann.call("expose", { key_name: "renamed" })).code()).toBe("internal");

  await alter(
    "UPDATE file_versions SET size = size - 1 WHERE file_id = (SELECT id FROM files WHERE name = 'mine')",
  );
  expect((await ann.call("download_file", { filename: "mine" })).code()).toBe("internal");
  await alter(
    "UPDATE file_chunks SET sealed = (SELECT sealed FROM file_chunks ORDER BY sealed DESC LIMIT 1)",
  );
  const responses = await Promise.all([
    ann.call("download_file", { filename: "other" }),
    bob.call("download_file", { filename: "bobs" }),
  ]);
  expect(responses.filter((response) => response.status === 200).length).toBeLessThanOrEqual(1);
});

test("the download of an altered file is cut off, never completed with other bytes", async () => {
  await using vault = await TestVault.start({ data, masterKey });
  const ann = await vault.client("ann@example.com");
  await ann.upload([{ filename: "long", bytes: randomBytes(700_000) }]);
  await alter(
    "UPDATE file_chunks SET sealed = (SELECT sealed FROM file_chunks WHERE position = 0) WHERE position = 1",
  );
  await expect(ann.call("download_file", { filename: "long" })).rejects.toThrow("aborted");
  await alter("DELETE FROM file_chunks WHERE position = 2");
  await expect(ann.call("download_file", { filename: "long" })).rejects.toThrow("aborted");
  expect((await ann.call("list_file")).status).toBe(200);
});

test("the sweeper wipes secrets past their deadline and unfinished uploads", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ data, masterKey, clock });
  const ann = await vault.client("ann@example.com", undefined, 1000);
  await ann.call("protect", { key_name: "short", key_value: canary.repeat(60), delete_time: 1 });
  await ann.call("protect", { key_name: "long", key_value: "x" });
  const [doomed] = await select(
    "SELECT sealed FROM secret_versions ORDER BY length(sealed) DESC LIMIT 1",
  );
  const sealed = z.instanceof(Uint8Array).parse(doomed?.sealed);
  expect((await stored.written()).includes(sealed)).toBe(true);
  await clock.advance(59_000);
  expect(await select("SELECT name FROM secrets")).toHaveLength(2);
  await clock.advance(1_000);
  await waitUntil("a sweep", async () => {
    await clock.advance(10_000);
    return (await vault.metric("vaultsync_vault_secrets_removed_total")) > 0;
  });
  expect(await select("SELECT name FROM secrets")).toEqual([{ name: "long" }]);
  expect(await select("SELECT secret_id FROM secret_versions")).toHaveLength(1);
  // The sweep ends with the write-ahead log; while a test reads the file, only the next one does.
  await waitUntil("a sweep that overwrites", async () => {
    await clock.advance(10_000);
    return !stored.overwrites || !(await stored.written()).includes(sealed);
  });
  expect(await vault.metric("vaultsync_vault_secrets_removed_total")).toBe(1);
});

test("the sweeper wipes uploads interrupted by a crash after an hour and keeps complete files", async () => {
  const clock = new VirtualClock();
  {
    await using vault = await TestVault.start({ data, masterKey, clock });
    const ann = await vault.client("ann@example.com");
    await ann.upload([{ filename: "whole", bytes: Buffer.from("x") }]);
  }
  await alter("INSERT INTO staged_blobs (blob_id, staged_at) VALUES ('lost', $1)", clock.now());
  await alter(
    "INSERT INTO file_chunks (blob_id, position, sealed) VALUES ('lost', 0, $1)",
    Buffer.from("rest"),
  );
  clock.stepWall(3_600_001);
  await using again = await startVaultServer({
    listen: { host: "127.0.0.1", port: 0 },
    data,
    masterKey,
    clock,
  });
  expect(again.url).toMatch(/^http:/u);
  await waitUntil(
    "a sweep",
    async () => (await select("SELECT blob_id FROM staged_blobs")).length === 0,
  );
  expect(await select("SELECT count(*) AS chunks FROM file_chunks")).toEqual([{ chunks: 1 }]);
});

async function rows(): Promise<number[]> {
  const counts: number[] = [];
  for (const table of ["refresh_tokens", "access_tokens", "login_failures"])
    counts.push((await select(`SELECT * FROM ${table}`)).length);
  return counts;
}

test("the sweeper removes expired tokens and old login failures and keeps valid pairs", async () => {
  const clock = new VirtualClock();
  await using vault = await TestVault.start({ data, masterKey, clock });
  const pair = (await vault.logIn("ann@example.com", { hours: 1 })).json();
  await vault.logIn("bob@example.com", { hours: 1 });
  await vault.logIn("bob@example.com", { hours: 24 * 1000 });
  await vault.logIn("ann@example.com", { password: "wrong" });
  const swept = (expected: number[]) =>
    waitUntil(`a sweep that leaves ${expected.join(", ")}`, async () => {
      await clock.advance(10_000);
      return (await rows()).join() === expected.join();
    });
  // One failure counts for the account, its network and both; two accounts know their network for
  // 90 days.
  expect(await rows()).toEqual([3, 3, 5]);
  clock.stepWall(89 * 86_400_000);
  await swept([3, 3, 2]);
  await vault.post(operationPath.refresh_token, {
    refresh_token: pair.refresh_token,
    used_access_token: pair.access_token,
  });
  clock.stepWall(86_400_000 + 15 * 60_000);
  // Ann's used pair and new token; of Bob's only the token that is not over yet.
  await swept([1, 3, 0]);
});
