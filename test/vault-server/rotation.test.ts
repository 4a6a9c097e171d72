import { readdir, readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { onPostgres, createVaultData, type VaultData } from "../lab/vault/vault-data.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { VaultClient } from "../lab/vault/vault-client.ts";
import { VaultsyncProcess } from "../lab/real/processes/vaultsync-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { KeyFile, parseMasterKeys } from "../../src/vault/server/crypto/key-file.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { rotateMasterKey } from "../../src/vault/server/rotation/rotate-master-key.ts";
import { openStore } from "../../src/vault/server/store/open-store.ts";
import type { Store } from "../../src/vault/server/store/store.ts";
import { startVaultServer } from "../../src/vault/server/vault-server.ts";

const directory = new TestDirectory();
let keyPath: string;
let data: VaultData;
beforeEach(async () => {
  keyPath = directory.join("master.key");
  await writeFile(
    keyPath,
    `# the vault's\n${Buffer.from(generateMasterKey().reveal()).toString("base64")}\n`,
    { mode: 0o600 },
  );
  data = await createVaultData();
});
afterEach(async () => {
  await data[Symbol.asyncDispose]();
});

const ring = (): KeyRing => new KeyRing(new KeyFile(keyPath));
const loud = { limits: { requestsPerSecond: 100_000, requestBurst: 100_000 } };

/** Starts a server with secrets of Ann, `s0` with the value `canary-0` and so on, and two files. */
async function filledVault(secrets: number): Promise<{ vault: TestVault; ann: VaultClient }> {
  const vault = await TestVault.start({ data: data.location, masterKey: ring(), ...loud });
  const ann = await vault.client("ann@example.com");
  for (let n = 0; n < secrets; n += 1)
    await ann.call("protect", { key_name: `s${n}`, key_value: `canary-${n}` });
  for (const filename of ["f0", "f1"])
    await ann.upload([{ filename, bytes: Buffer.from(`canary-${filename}`) }]);
  return { vault, ann };
}

async function expectEverything(ann: VaultClient, secrets: number): Promise<void> {
  const values: unknown[] = [];
  for (let n = 0; n < secrets; n += 1)
    values.push((await ann.call("expose", { key_name: `s${n}` })).json().key_value);
  expect(values).toEqual(Array.from({ length: secrets }, (_, n) => `canary-${n}`));
  for (const filename of ["f0", "f1"]) {
    expect((await ann.call("download_file", { filename })).bytes.toString()).toBe(
      `canary-${filename}`,
    );
  }
}

const rotate = (args: readonly string[] = ["--master-key-file", keyPath]): VaultsyncProcess =>
  new VaultsyncProcess(["vault", "rotate-key", ...args], {
    env: { VAULTSYNC_VAULT_DATA: data.location },
  });

async function keyIdsInData(): Promise<unknown[]> {
  const rows = await data.select(
    "SELECT key_id FROM secret_versions UNION SELECT key_id FROM file_versions",
  );
  return rows.map((row) => row["key_id"]);
}

const retiredFiles = async (): Promise<string[]> =>
  (await readdir(directory.path)).filter((name) => name.endsWith(".retired"));

/**
 * Reads and writes, without a pause, until it is stopped; responses whatever was not as it should
 * be.
 */
async function workUntil(
  stop: AbortSignal,
  caller: VaultClient,
  worker: number,
): Promise<string[]> {
  const faults: string[] = [];
  const check = (what: string, good: boolean, outcome: string): void =>
    void (good || faults.push(`${what}: ${outcome}`));
  for (let round = 0; !stop.aborted; round += 1) {
    const value = `canary-worker-${worker}-${round}`;
    const written = await caller.call("protect", {
      key_name: `worker-${worker}`,
      key_value: value,
    });
    check("protect", written.status === 200, written.outcome());
    const own = await caller.call("expose", { key_name: `worker-${worker}` });
    check("expose", own.json().key_value === value, own.outcome());
    const n = (worker * 7 + round * 13) % 100;
    const old = await caller.call("expose", { key_name: `s${n}` });
    check("expose an old one", old.json().key_value === `canary-${n}`, old.outcome());
    const up = await caller.upload([{ filename: `worker-${worker}`, bytes: Buffer.from(value) }]);
    check("protect_file", up.status === 200, up.outcome());
    const down = await caller.call("download_file", { filename: `worker-${worker}` });
    check("download_file", down.bytes.toString() === value, down.outcome());
  }
  return faults;
}

test("rotates the master key under load without errors, wrong values or a restart", async () => {
  const old = parseMasterKeys(await readFile(keyPath, "utf8"));
  const before = new KeyRing({ read: () => old });
  const { vault, ann } = await filledVault(200);
  await using _vault = vault;
  // A second server process shares a PostgreSQL database; SQLite has one.
  await using replica = onPostgres()
    ? await TestVault.start({ data: data.location, masterKey: ring(), emails: [], ...loud })
    : undefined;
  const stop = new AbortController();
  const workers = Array.from({ length: 8 }, (_, worker) => {
    const caller = new VaultClient(replica && worker % 2 ? replica.url : vault.url, ann.email, {
      token: ann.token,
    });
    return workUntil(stop.signal, caller, worker);
  });
  for (let round = 0; round < 2; round += 1) {
    const { code, stdout, stderr } = await rotate().result;
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toContain("skipped 0");
  }
  stop.abort();
  expect((await Promise.all(workers)).flat()).toEqual([]);
  const { ids } = ring();
  expect(ids).toHaveLength(1);
  expect(ids).not.toEqual(before.ids);
  expect(await keyIdsInData()).toEqual(ids);
  expect(await retiredFiles()).toHaveLength(2);
  await expectEverything(ann, 200);

  const options = { listen: { host: "127.0.0.1", port: 0 }, data: data.location };
  await expect(startVaultServer({ ...options, masterKey: before })).rejects.toThrow(
    "another master key",
  );
  await vault[Symbol.asyncDispose]();
  await using again = await startVaultServer({ ...options, masterKey: ring(), ...loud });
  await expectEverything(new VaultClient(again.url, ann.email, { token: ann.token }), 200);
}, 60_000);

test("a killed rotation is completed by the next one without data loss", async () => {
  const { vault, ann } = await filledVault(400);
  await using _vault = vault;
  for (const wait of [0, 3, 15, 40, 90]) {
    const [old] = ring().ids;
    await using cutShort = rotate();
    while (ring().ids.length < 2 && ring().ids[0] === old && !cutShort.exited) await delay(1);
    await delay(wait);
    await cutShort.stop("SIGKILL");
    await ann.call("protect", { key_name: "between", key_value: "canary-between" });
    expect((await rotate().result).code).toBe(0);
    expect(ring().ids).toHaveLength(1);
    expect(ring().ids).not.toContain(old);
    expect(await keyIdsInData()).toEqual(ring().ids);
    expect((await ann.call("expose", { key_name: "between" })).json().key_value).toBe(
      "canary-between",
    );
  }
  await expectEverything(ann, 400);
}, 90_000);

type Cut = "before" | "within" | "after";

/** Wraps a store whose n-th write fails: before it starts, within it, or after its commit. */
function cutAt(store: Store, at: number, cut: Cut): Store {
  let writes = 0;
  return {
    ...store,
    read: (work) => store.read(work),
    scrub: () => store.scrub(),
    reusableBytes: () => store.reusableBytes(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    async write(work) {
      writes += 1;
      if (writes === at && cut === "before") throw new Error("cut short");
      const result = await store.write(async (transaction) => {
        const done = await work(transaction);
        if (writes === at && cut === "within") throw new Error("cut short");
        return done;
      });
      if (writes === at && cut === "after") throw new Error("cut short");
      return result;
    },
  };
}

test.each<Cut>(["before", "within", "after"])(
  "a rotation interrupted %s any write can be completed; data stays readable",
  async (cut) => {
    const { vault, ann } = await filledVault(60);
    await using _vault = vault;
    const turn = async (at: number): Promise<boolean> => {
      // SQLite's lock does not separate two connections of one process: there are no other writers.
      await using store = await openStore(data.location);
      const rotation = {
        keys: ring(),
        to: { kind: "new", file: new KeyFile(keyPath) },
        clock: systemClock,
        progress: () => undefined,
      } as const;
      const completed = await rotateMasterKey({ ...rotation, store: cutAt(store, at, cut) }).then(
        () => true,
        (error: Error) => error.message !== "cut short",
      );
      await ann.call("protect", { key_name: "between", key_value: `canary-${at}` });
      expect((await ann.call("expose", { key_name: "between" })).json().key_value).toBe(
        `canary-${at}`,
      );
      await expectEverything(ann, 60);
      // A started rotation is resumed, not restarted with another key.
      const settings = new Map(
        (await data.select("SELECT name, value FROM settings")).map(
          (row) => [row["name"], row["value"]] as const,
        ),
      );
      const finished = await rotateMasterKey({ ...rotation, keys: ring(), store });
      expect(finished.unreadable).toEqual([]);
      expect(finished.id === settings.get("master_key")).toBe(
        settings.get("master_key_rotation") === settings.get("master_key"),
      );
      return completed;
    };
    let at = 1;
    while (!(await turn(at))) {
      expect(ring().ids).toHaveLength(1);
      expect(await keyIdsInData()).toEqual(ring().ids);
      at += 1;
    }
    expect(at).toBeGreaterThan(7);
    await expectEverything(ann, 60);
  },
  60_000,
);

const id = (name: string): string => `(SELECT id FROM secrets WHERE name = '${name}')`;

test("rotation reports altered or swapped versions, rewraps all others and keeps the old key", async () => {
  const { vault, ann } = await filledVault(5);
  await using _vault = vault;
  const [old] = ring().ids;
  const column = (name: string) =>
    `(SELECT wrapped_key FROM secret_versions WHERE secret_id = ${id(name)})`;
  await data.change(
    `UPDATE secret_versions SET wrapped_key = ${column("s1")} WHERE secret_id = ${id("s0")}`,
  );
  await data.change(`UPDATE secret_versions SET key_id = 'made-up' WHERE secret_id = ${id("s2")}`);
  await data.change(
    "UPDATE file_versions SET size = size + 1 WHERE file_id = (SELECT id FROM files WHERE name = 'f0')",
  );
  await data.run(
    "INSERT INTO sessions (digest, email, created_at, expires_at, used_at) VALUES ('added', 'ann@example.com', 0, 1e15, 0)",
  );
  const { code, stderr } = await rotate().result;
  expect(code).toBe(1);
  expect(stderr).toContain(
    'skipped the row ["added"] of sessions: no server with the master key has written it',
  );
  expect(stderr).toContain(
    `skipped version 1 of the secret "s0" of ann@example.com: the master key ${old} does not open it`,
  );
  expect(stderr).toContain(
    `skipped version 1 of the secret "s2" of ann@example.com: the master key made-up does not open it`,
  );
  expect(stderr).toContain(`skipped version 1 of the file "f0" of ann@example.com`);
  expect(stderr).toContain("rewrapped 4 keys, skipped 3");
  expect(ring().ids).toHaveLength(2);
  const outcomes: string[] = [];
  for (const key_name of ["s0", "s1", "s2", "s3"])
    outcomes.push((await ann.call("expose", { key_name })).outcome());
  expect(outcomes).toEqual(["500 internal", "200", "500 internal", "200"]);
  await data.run("DELETE FROM sessions WHERE digest = 'added'");
  await ann.call("delete", { key_name: ["s0", "s2"] });
  await ann.call("delete_file", { filename: "f0" });
  expect((await rotate().result).code).toBe(0);
  expect(ring().ids).toHaveLength(1);
}, 30_000);

test("rotation to an existing key leaves the key file unchanged", async () => {
  const { vault, ann } = await filledVault(3);
  await using _vault = vault;
  const key = Buffer.from(generateMasterKey().reveal()).toString("base64");
  const both = `${await readFile(keyPath, "utf8")}${key} # the new one\n`;
  await writeFile(keyPath, both);
  const to = ring().ids[1]!;
  const known = await rotate(["--to", to, "--master-key-file", keyPath]).result;
  expect(known).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("no record needs a former key: remove it"),
  });
  expect(await keyIdsInData()).toEqual([to]);
  await expectEverything(ann, 3);
  expect(await readFile(keyPath, "utf8")).toBe(both);
  const unknown = await rotate(["--to", "0123456789abcdef", "--master-key-file", keyPath]).result;
  expect(unknown).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("unknown master key 0123456789abcdef"),
  });
  // Configured by the environment only.
  const child = new VaultsyncProcess(["vault", "rotate-key", "--to", ring().ids[0]!], {
    env: {
      VAULTSYNC_VAULT_DATA: data.location,
      VAULTSYNC_VAULT_MASTER_KEY: both.replaceAll(/#.*$/gmu, "").trim().replaceAll("\n", ","),
    },
  });
  expect((await child.result).code).toBe(0);
}, 30_000);

test("rotation rejects unknown keys and missing data and leaves the key file unchanged", async () => {
  const { vault } = await filledVault(1);
  await using _vault = vault;
  const [current] = ring().ids;
  const other = directory.join("other.key");
  await writeFile(other, Buffer.from(generateMasterKey().reveal()).toString("base64"));
  const before = await readFile(other, "utf8");
  const wrong = await rotate(["--master-key-file", other]).result;
  expect(wrong).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      `the data is encrypted under another master key: expected ${current}`,
    ),
  });
  expect(await readFile(other, "utf8")).toBe(before);
  const nowhere = await rotate(["--master-key-file", keyPath, "--data", directory.join("none.db")])
    .result;
  expect(nowhere).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("data file not found"),
  });
  expect((await rotate([]).result).code).toBe(2);
});
