import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { KeyFile } from "../../src/vault/server/crypto/key-file.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultClient } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";

const [ANN, BOB, CID] = ["ann@example.com", "bob@example.com", "cid@example.com"];
const directory = new TestDirectory();
let [keyPath, auditLog] = ["", ""];
let data: VaultData;
let vault: TestVault;
let [ann, bob, cid]: VaultClient[] = [];
beforeEach(async () => {
  keyPath = directory.join("master.key");
  auditLog = directory.join("audit.jsonl");
  await writeFile(keyPath, Buffer.from(generateMasterKey().reveal()).toString("base64"));
  data = await createVaultData();
  vault = await TestVault.start({
    data: data.location,
    masterKey: new KeyRing(new KeyFile(keyPath)),
    auditLog: { file: auditLog },
    emails: [ANN, BOB, CID],
    limits: { requestsPerSecond: 100_000, requestBurst: 100_000 },
  });
  [ann, bob, cid] = [await vault.client(ANN), await vault.client(BOB), await vault.client(CID)];
});
afterEach(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

const environment = () => ({
  VAULTSYNC_VAULT_DATA: data.location,
  VAULTSYNC_VAULT_MASTER_KEY_FILE: keyPath,
});
const user = (...args: string[]) => runInProcess(["vault", "user", ...args], environment());
const handOver = (...args: string[]) => user("hand-over", ANN, BOB, "--secrets", ...args);
const disable = () => user("disable", ANN, "--yes");

/**
 * Gives Ann a secret of three versions that Cid may read and write, one that a team of hers may
 * read, one of her own, and a file of two versions.
 */
async function fill(): Promise<void> {
  for (const value of ["one", "two", "three"])
    await ann!.call("protect", { key_name: "shared 🔑", key_value: value });
  for (const key_name of ["team's", "own", "dismissed"])
    await ann!.call("protect", { key_name, key_value: `of ${key_name}` });
  await ann!.call("team_create", { group_id: "ops", members: [CID] });
  await ann!.call("share", {
    key_name: "shared 🔑",
    permission: "RW",
    usr_id_from: ANN,
    usr_id_to: [CID, BOB],
  });
  await ann!.call("share", {
    key_name: ["team's", "dismissed"],
    permission: "R",
    usr_id_from: ANN,
    group_id_to: "ops",
  });
  await cid!.call("delete_shared_key_link", { key_name: "dismissed" });
  for (const text of ["first", "second"])
    await ann!.upload([{ filename: "f.txt", bytes: Buffer.from(text.repeat(100_000)) }]);
}

async function listed(caller: VaultClient): Promise<string[]> {
  const { secrets } = (await caller.call("list_no_dup")).json();
  return secrets.map((secret: { owner: string; key_name: string; key_version: number }) =>
    [secret.owner, secret.key_name, secret.key_version].join(" "),
  );
}

const numbers = (rows: Record<string, unknown>[]) =>
  rows.map(({ email, ...amounts }) => [email, ...Object.values(amounts).map(Number)]);

/** Returns the lines that commands left in the audit log. */
const adminLines = async () =>
  (await readFile(auditLog, "utf8"))
    .split("\n")
    .filter((line) => line.includes('"event":"admin"'))
    .map((line) => `${JSON.parse(line).action} ${JSON.parse(line).user}`);

/** Returns what every account owns, as the vault counts it and as the rows show it. */
async function usage(): Promise<{ counted: unknown; actual: unknown }> {
  const secrets = "FROM secrets AS s WHERE s.owner = u.email";
  const versions =
    "FROM secrets AS s JOIN secret_versions AS v ON v.secret_id = s.id WHERE s.owner = u.email";
  const files =
    "FROM files AS f JOIN file_versions AS v ON v.file_id = f.id WHERE f.owner = u.email";
  const actual = await data.select(`SELECT u.email, (SELECT count(*) ${secrets}) AS secrets,
    (SELECT count(*) ${versions}) + (SELECT count(*) ${files}) AS versions,
    (SELECT coalesce(sum(octet_length(v.sealed) + octet_length(v.metadata)), 0) ${versions}) + (SELECT coalesce(sum(v.size), 0) ${files}) AS bytes,
    (SELECT count(*) FROM secrets AS s JOIN person_grants AS g ON g.secret_id = s.id WHERE s.owner = u.email)
    + (SELECT count(*) FROM secrets AS s JOIN team_grants AS g ON g.secret_id = s.id WHERE s.owner = u.email) AS grants
    FROM users AS u ORDER BY u.email`);
  const counted = await data.select(
    "SELECT email, secrets, versions, bytes, grants FROM account_usage ORDER BY email",
  );
  return { counted: numbers(counted), actual: numbers(actual) };
}

test("secrets and files of a user who leaves are handed over with all versions and shares", async () => {
  await fill();
  const etag = String((await cid!.call("list_no_dup")).headers["etag"]);
  await disable();
  const { code, stderr } = await handOver();
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringContaining(`handed over secrets: 4, files: 1 to ${BOB}`),
  });
  expect(stderr).toContain(`handed over 1 team to ${BOB}`);

  expect(await listed(bob!)).toEqual([
    `${BOB} dismissed 1`,
    `${BOB} own 1`,
    `${BOB} shared 🔑 3`,
    `${BOB} team's 1`,
  ]);
  for (const [index, value] of ["one", "two", "three"].entries()) {
    const version = { key_name: "shared 🔑", key_version: index + 1 };
    expect((await bob!.call("version_expose_link", version)).json()).toMatchObject({
      key_value: value,
      owner: BOB,
    });
  }
  // Shared with its new owner only, before.
  expect((await bob!.call("expose", { key_name: "own" })).json()).toMatchObject({
    key_value: "of own",
  });
  for (const [version, text] of [
    [1, "first"],
    [2, "second"],
  ] as const) {
    const { bytes } = await bob!.call("download_file", { filename: "f.txt", version });
    expect(bytes.toString()).toBe(text.repeat(100_000));
  }
  expect((await bob!.call("delete_file", { filename: "f.txt", version: 1 })).outcome()).toBe("200");

  expect((await cid!.call("list_no_dup", {}, { "if-none-match": etag })).outcome()).toBe("200");
  expect(await listed(cid!)).toEqual([`${BOB} shared 🔑 3`, `${BOB} team's 1`]);
  expect((await cid!.call("expose_link", { key_name: "team's" })).json()).toMatchObject({
    key_value: "of team's",
    owner: BOB,
  });
  const written = await cid!.call("protect_link", {
    key_name: "shared 🔑",
    key_value: "four",
    without_list: 1,
  });
  expect(written.json().secret).toMatchObject({ key_version: 4, owner: BOB });
  const versions = (await bob!.call("version_list_for_link", { key_name: "shared 🔑" })).json()
    .versions;
  expect(versions.map(({ created_by: by }: { created_by: string }) => by)).toEqual([
    ANN,
    ANN,
    ANN,
    CID,
  ]);

  const { counted, actual } = await usage();
  expect(counted).toEqual(actual);
  await user("enable", ANN);
  const back = await vault.client(ANN);
  // As a member of the team that she shared with.
  expect(await listed(back)).toEqual([`${BOB} dismissed 1`, `${BOB} team's 1`]);
  expect((await back.call("list_file")).json()).toEqual({ files: [] });
  await expect
    .poll(adminLines, { timeout: 25_000 })
    .toEqual(
      expect.arrayContaining([
        `hand-over-secrets ${ANN}`,
        `receive-secrets ${BOB}`,
        `hand-over-teams ${ANN}`,
      ]),
    );
}, 300_000);

test("values and files are sealed for their new owner: rows that are moved back cannot be opened", async () => {
  await fill();
  await disable();
  await handOver();
  await user("enable", ANN);
  await data.change("UPDATE secrets SET owner = $1 WHERE name = 'own'", ANN);
  await data.change("UPDATE files SET owner = $1", ANN);
  const back = await vault.client(ANN);
  expect((await back.call("expose", { key_name: "own" })).outcome()).toBe("500 internal");
  expect((await back.call("download_file", { filename: "f.txt" })).outcome()).toBe("500 internal");
});

test("a share that only the new owner had ends, so that the secret is unshared", async () => {
  await ann!.call("protect", { key_name: "a", key_value: "x" });
  await ann!.call("share", { key_name: "a", permission: "R", usr_id_from: ANN, usr_id_to: BOB });
  await disable();
  expect((await handOver()).code).toBe(0);
  expect((await bob!.call("expose", { key_name: "a" })).json()).toMatchObject({
    key_value: "x",
    owner: BOB,
  });
});

test("names that both users have are rejected with a list, before anything is handed over", async () => {
  await fill();
  await bob!.call("protect", { key_name: "own", key_value: "bob's" });
  await bob!.upload([{ filename: "f.txt", bytes: Buffer.from("bob's") }]);
  await disable();
  const before = await data.select("SELECT id, owner, name FROM secrets ORDER BY id");
  const rejected = await handOver();
  expect(rejected).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("--rename-suffix TEXT"),
  });
  for (const name of ['the secret "own"', 'the file "f.txt"'])
    expect(rejected.stderr).toContain(name);
  expect(await data.select("SELECT id, owner, name FROM secrets ORDER BY id")).toEqual(before);
  expect((await bob!.call("team_list")).json().teams).toEqual([]);

  await ann!.call("list_no_dup");
  const long = await handOver("--rename-suffix", "x".repeat(255));
  expect(long).toMatchObject({ code: 1, stderr: expect.stringContaining("256 characters") });
  const renamed = await handOver("--rename-suffix", "-of-ann");
  expect(renamed).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('renamed the secret "own" to "own-of-ann"'),
  });
  expect((await bob!.call("expose", { key_name: "own" })).json().key_value).toBe("bob's");
  expect((await bob!.call("expose", { key_name: "own-of-ann" })).json().key_value).toBe("of own");
  expect((await bob!.call("download_file", { filename: "f.txt" })).bytes.toString()).toBe("bob's");
  expect((await bob!.call("download_file", { filename: "f.txt-of-ann" })).bytes.length).toBe(
    600_000,
  );
});

test.each([
  ["a user who is not disabled", [ANN, BOB], "vaultsync vault user disable"],
  ["the same user", [ANN, ANN], "two different users"],
  ["an unknown new owner", [ANN, "nobody@example.com"], "no user has the email"],
])("hand-over --secrets rejects %s and changes nothing", async (_what, users, advice) => {
  await fill();
  expect(await user("hand-over", ...users, "--secrets")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(advice),
  });
  expect(await listed(ann!)).toHaveLength(4);
});

test("hand-over --secrets rejects a disabled new owner, full quotas, and a wrong or missing key", async () => {
  await fill();
  await disable();
  const quotas = await handOver("--quotas", "versions=3");
  expect(quotas).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("versions of an account's secrets and files: 8 of 3"),
  });
  const other = directory.join("other.key");
  await writeFile(other, Buffer.from(generateMasterKey().reveal()).toString("base64"));
  expect(await handOver("--master-key-file", other)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("encrypted under another master key"),
  });
  const keyless = await runInProcess([
    "vault",
    "user",
    "hand-over",
    ANN,
    BOB,
    "--secrets",
    "--data",
    data.location,
  ]);
  expect(keyless).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--master-key-file FILE"),
  });
  await user("disable", BOB, "--yes");
  expect(await handOver()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${BOB} is disabled`),
  });
  expect(await data.select(`SELECT name FROM secrets WHERE owner = '${ANN}'`)).toHaveLength(4);
});

test("a secret that cannot be opened stays with its owner, and all others are handed over", async () => {
  await fill();
  await data.run(
    "UPDATE secret_versions SET wrapped_key = sealed WHERE secret_id = (SELECT id FROM secrets WHERE name = 'own')",
  );
  await disable();
  const result = await handOver();
  expect(result).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('skipped the secret "own"'),
  });
  expect(result.stderr).toContain("handed over secrets: 3, files: 1");
  expect(await data.select(`SELECT name FROM secrets WHERE owner = '${ANN}'`)).toEqual([
    { name: "own" },
  ]);
  const { counted, actual } = await usage();
  expect(counted).toEqual(actual);
});

test("writes of others during a hand-over are kept, and the former owner's are rejected", async () => {
  for (let n = 0; n < 60; n += 1) await ann!.call("protect", { key_name: `s${n}`, key_value: "0" });
  const names = Array.from({ length: 60 }, (_, n) => `s${n}`);
  await ann!.call("share", { key_name: names, permission: "RW", usr_id_from: ANN, usr_id_to: CID });
  await disable();
  const last = new Map<string, string>();
  const stop = new AbortController();
  const writer = async (): Promise<void> => {
    for (let round = 0; !stop.signal.aborted; round += 1) {
      const name = names[(round * 7) % 60]!;
      const written = await cid!.call("protect_link", {
        key_name: name,
        key_value: `r${round}`,
        without_list: 1,
      });
      expect(written.outcome()).toBe("200");
      last.set(name, `r${round}`);
      expect((await ann!.call("protect", { key_name: name, key_value: "lost" })).outcome()).toBe(
        "401 invalid_token",
      );
    }
  };
  const writing = writer();
  const { code, stderr } = await new VaultsyncProcess(
    ["vault", "user", "hand-over", ANN, BOB, "--secrets"],
    {
      env: environment(),
    },
  ).result;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  stop.abort();
  await writing;
  expect(await listed(bob!)).toHaveLength(60);
  expect(last.size).toBeGreaterThan(0);
  for (const [name, value] of last) {
    expect((await bob!.call("expose_link", { key_name: name })).json()).toMatchObject({
      key_value: value,
      owner: BOB,
    });
  }
}, 300_000);

test("a killed hand-over is completed by the next one without loss", async () => {
  for (let n = 0; n < 150; n += 1) {
    await ann!.call("protect", { key_name: `s${n}`, key_value: `old-${n}` });
    await ann!.call("protect", { key_name: `s${n}`, key_value: `new-${n}` });
  }
  for (const filename of ["f0", "f1"])
    await ann!.upload([{ filename, bytes: Buffer.from(filename) }]);
  await disable();
  const started = performance.now();
  const first = new VaultsyncProcess(["vault", "user", "hand-over", ANN, BOB, "--secrets"], {
    env: environment(),
  });
  const moved = async () =>
    Number(
      (await data.select(`SELECT count(*) AS n FROM secrets WHERE owner = '${BOB}'`))[0]?.["n"],
    );
  await expect.poll(moved, { timeout: 60_000 }).toBeGreaterThan(0);
  await first.stop("SIGKILL");
  const took = performance.now() - started;
  for (const wait of [0.9, 0.95, 1]) {
    const child = new VaultsyncProcess(["vault", "user", "hand-over", ANN, BOB, "--secrets"], {
      env: environment(),
    });
    await delay(took * wait);
    await child.stop("SIGKILL");
  }
  expect((await handOver()).code).toBe(0);
  expect(await listed(bob!)).toHaveLength(150);
  for (let n = 0; n < 150; n += 1) {
    expect((await bob!.call("expose", { key_name: `s${n}` })).json().key_value).toBe(`new-${n}`);
    expect(
      (await bob!.call("version_expose", { key_name: `s${n}`, key_version: 1 })).json().key_value,
    ).toBe(`old-${n}`);
  }
  for (const filename of ["f0", "f1"]) {
    expect((await bob!.call("download_file", { filename })).bytes.toString()).toBe(filename);
  }
  const { counted, actual } = await usage();
  expect(counted).toEqual(actual);
}, 300_000);
