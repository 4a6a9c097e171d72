import { createHash } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  closing,
  CLOSING_BYTES,
  opening,
  OPENING_BYTES,
} from "../../src/vault/server/backup/format.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { BackupData, fillForBackup } from "../lab/vault/backup-data.ts";
import { TestVault } from "../lab/vault/test-vault.ts";

let fixture: BackupData;
let location: string;
beforeEach(async () => {
  fixture = await BackupData.create();
  location = fixture.path("never.db");
  await using vault = await TestVault.start({
    data: fixture.data.location,
    masterKey: fixture.ring(),
  });
  await fillForBackup(vault);
});
afterEach(() => fixture[Symbol.asyncDispose]());

/**
 * Adds a grant for another user to a backup, as a user who can write the file but has no master
 * key: with a correct checksum.
 */
async function addGrant(name: string): Promise<void> {
  const bytes = await readFile(fixture.path(name));
  const { authenticated } = OPENING_BYTES;
  const content = zstdDecompressSync(
    bytes.subarray(authenticated, -CLOSING_BYTES.authenticated),
  ).toString("utf8");
  const altered = content.replace(
    /(\{"table":"person_grants".*\n)(\["[^"]*",)"[^"]*"(.*\n)/u,
    '$1$2"eve@example.com"$3',
  );
  expect(altered).not.toBe(content);
  const start = Buffer.concat([bytes.subarray(0, authenticated), zstdCompressSync(altered)]);
  const mac = bytes.subarray(-32);
  await writeFile(
    fixture.path(name),
    Buffer.concat([start, closing(createHash("sha256").update(start).digest(), mac)]),
  );
}

test("restore rejects a backup with an added grant and a correct checksum", async () => {
  await fixture.backUp("backup");
  await addGrant("backup");
  const changed = { code: 1, stderr: expect.stringContaining("its MAC differs") };
  expect(await fixture.verify("backup")).toMatchObject(changed);
  expect(await fixture.run("restore", ["--from", fixture.path("backup")], location)).toMatchObject(
    changed,
  );
  await expect(stat(location)).rejects.toThrow("ENOENT");
  expect((await fixture.verify("backup", "--unauthenticated")).code).toBe(0);
});

test("a backup without a MAC needs --unauthenticated, for writing and for restoring", async () => {
  expect((await fixture.backUp("authenticated")).code).toBe(0);
  const bytes = await readFile(fixture.path("authenticated"));
  const content = bytes.subarray(OPENING_BYTES.authenticated, -CLOSING_BYTES.authenticated);
  const start = Buffer.concat([opening(), content]);
  await writeFile(
    fixture.path("old"),
    Buffer.concat([start, closing(createHash("sha256").update(start).digest())]),
  );
  expect(await fixture.verify("old")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("has no MAC"),
  });
  expect((await fixture.verify("old", "--unauthenticated")).code).toBe(0);
  expect(
    (await fixture.run("restore", ["--from", fixture.path("old"), "--unauthenticated"], location))
      .code,
  ).toBe(0);
});

test("backup and restore without a master key are usage errors, unless --unauthenticated is set", async () => {
  const env = { VAULTSYNC_VAULT_DATA: fixture.data.location };
  const backup = ["vault", "backup", "--to", fixture.path("backup")];
  const verify = ["vault", "restore", "--verify", "--from", fixture.path("backup")];
  const wrongUsage = {
    code: 2,
    stderr: expect.stringContaining("--master-key-command, or add --unauthenticated"),
  };
  expect(await runInProcess(backup, env)).toMatchObject(wrongUsage);
  expect((await runInProcess([...backup, "--unauthenticated"], env)).code).toBe(0);
  expect(await runInProcess(verify)).toMatchObject(wrongUsage);
  expect((await runInProcess([...verify, "--unauthenticated"])).code).toBe(0);
});

test("a backup cannot be verified with another master key", async () => {
  await fixture.backUp("backup");
  await writeFile(
    fixture.path("key"),
    Buffer.from(generateMasterKey().reveal()).toString("base64"),
  );
  expect(await fixture.verify("backup")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("under another master key"),
  });
});
