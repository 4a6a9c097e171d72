import { readFile, writeFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Operation, operationPath } from "../../src/protocol/operation-paths.ts";
import { KeyFile } from "../../src/vault/server/crypto/key-file.ts";
import { KeyRing } from "../../src/vault/server/crypto/key-ring.ts";
import { generateMasterKey } from "../../src/vault/server/crypto/master-key.ts";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { waitUntil } from "../lab/clock/wait-until.ts";
import { runInProcess } from "../lab/real/processes/run-in-process.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import { scopeString, type VaultClient, type VaultResponse } from "../lab/vault/vault-client.ts";
import { createVaultData, type VaultData } from "../lab/vault/vault-data.ts";

const [ANN, BOB] = ["ann@example.com", "bob@example.com"];
const SHOP = "prod/shop/VaultSecret/shop-db";
const DAY_MS = 24 * 3_600_000;
const directory = new TestDirectory();
let data: VaultData;
let clock: VirtualClock;
let vault: TestVault;
let [ann, bob]: VaultClient[] = [];

/** Starts the server, with accounts or on data that has them. */
async function start(emails: readonly string[] = []): Promise<void> {
  vault = await TestVault.start({
    data: data.location,
    masterKey: new KeyRing(new KeyFile(directory.join("master.key"))),
    auditLog: { file: directory.join("audit.jsonl") },
    clock,
    emails,
    limits: { requestsPerSecond: 1e6, requestBurst: 1e6 },
  });
}

beforeEach(async () => {
  data = await createVaultData();
  clock = new VirtualClock();
  const key = Buffer.from(generateMasterKey().reveal()).toString("base64");
  await writeFile(directory.join("master.key"), key);
  await start([ANN, BOB]);
  const forever = [scopeString(), 1e6] as const;
  [ann, bob] = [await vault.client(ANN, ...forever), await vault.client(BOB, ...forever)];
  await ann.call("protect", { key_name: "db", key_value: "one" });
  await ann.call("protect", { key_name: "db", key_value: "two" });
});
afterEach(async () => {
  await vault[Symbol.asyncDispose]();
  await data[Symbol.asyncDispose]();
});

/** Sends a request that names the resource that it is for. */
const readFor = (
  consumer: string | undefined,
  operation: Operation = "expose",
  body: object = { key_name: "db" },
  caller = ann!,
): Promise<VaultResponse> =>
  vault.post(
    operationPath[operation],
    { email: caller.email, ...body },
    { ...caller.credentials, "vaultsync-consumer": consumer },
  );

interface Listed {
  readonly consumer: string;
  readonly version: number;
  readonly last_read_at: string;
  readonly account: string;
}

const listed = async (body: object = { key_name: "db" }, caller = ann!): Promise<Listed[]> =>
  (await caller.call("consumer_list", body)).json().consumers;

/** Returns the list as soon as sweeps have left so many consumers. */
async function swept(left: number, body: object = { key_name: "db" }): Promise<Listed[]> {
  let list: Listed[] = [];
  await waitUntil("the sweep", async () => {
    await clock.advance(10_000);
    list = await listed(body);
    return list.length === left;
  });
  return list;
}

async function count(table: string): Promise<number> {
  const [row] = await data.select(`SELECT count(*) AS count FROM ${table}`);
  return Number(row?.["count"]);
}

const share = (permission: string): Promise<VaultResponse> =>
  ann!.call("share", { key_name: "db", usr_id_from: ANN, usr_id_to: BOB, permission });

const environment = ({ location }: VaultData) => ({
  VAULTSYNC_VAULT_DATA: location,
  VAULTSYNC_VAULT_MASTER_KEY_FILE: directory.join("master.key"),
});
const run = (...args: string[]) => runInProcess(["vault", ...args], environment(data));

describe("consumer_list", () => {
  test("has the last read of each consumer, the newest first", async () => {
    expect(await listed()).toEqual([]);
    const at = new Date(clock.now()).toISOString();
    await readFor(SHOP, "version_expose", { key_name: "db", key_version: 1 });
    clock.stepWall(1_000);
    expect((await readFor("dev/shop/VaultPush/push")).outcome()).toBe("200");
    expect(await swept(2)).toEqual([
      {
        name: "db",
        consumer: "dev/shop/VaultPush/push",
        version: 2,
        last_read_at: new Date(Date.parse(at) + 1_000).toISOString(),
        account: ANN,
      },
      { name: "db", consumer: SHOP, version: 1, last_read_at: at, account: ANN },
    ]);
  });

  test("has the reads of recipients of a shared secret, for the creator only", async () => {
    await share("R");
    const link = { key_name: "db", owner: ANN };
    await readFor(SHOP, "expose_link", link, bob);
    await readFor("c/n/VaultSecret/x", "version_expose_link", { ...link, key_version: 1 });
    const found = await swept(2);
    expect(found.map(({ consumer, version, account }) => [consumer, version, account])).toEqual(
      expect.arrayContaining([
        [SHOP, 2, BOB],
        ["c/n/VaultSecret/x", 1, ANN],
      ]),
    );
    const response = await bob!.call("consumer_list", { key_name: "db" });
    expect(response.outcome()).toBe("403 forbidden");
  });

  test("has one read of each account that names the same resource", async () => {
    await share("R");
    const link = { key_name: "db", owner: ANN };
    await readFor(SHOP, "expose_link", link);
    await swept(1);
    clock.stepWall(120_000);
    await readFor(SHOP, "version_expose_link", { ...link, key_version: 1 }, bob);
    const found = await swept(2);
    expect(found.map(({ consumer, version, account }) => [consumer, version, account])).toEqual([
      [SHOP, 1, BOB],
      [SHOP, 2, ANN],
    ]);
  });

  test("has the reads of several secrets, each with the name, or none if one is unknown", async () => {
    await ann!.call("protect", { key_name: "other", key_value: "x" });
    await readFor(SHOP, "expose", { key_name: "db" });
    clock.stepWall(1_000);
    await readFor(SHOP, "expose", { key_name: "other" });
    expect(await swept(2, { key_name: ["db", "other", "db"] })).toMatchObject([
      { name: "other", consumer: SHOP, version: 1 },
      { name: "db", consumer: SHOP, version: 2 },
    ]);
    const unknown = await ann!.call("consumer_list", { key_name: ["db", "none"] });
    expect(unknown.outcome()).toBe("404 secret_not_found");
  });

  test("has the reads of a file apart from the reads of a secret of its name", async () => {
    await ann!.upload([{ filename: "db", bytes: Buffer.from("file") }]);
    const downloaded = await readFor(SHOP, "download_file", { filename: "db" });
    expect(downloaded.bytes.toString()).toBe("file");
    expect(await swept(1, { filename: "db" })).toMatchObject([{ consumer: SHOP, version: 1 }]);
    expect(await listed()).toEqual([]);
    const other = await bob!.call("consumer_list", { filename: "db" });
    expect(other.outcome()).toBe("404 file_not_found");
  });

  test.each<[string, object]>([
    ["400 invalid_request", {}],
    ["400 invalid_request", { key_name: "db", filename: "db" }],
    ["404 secret_not_found", { key_name: "none" }],
    ["404 file_not_found", { filename: "none" }],
  ])("returns %s for %o", async (outcome, body) => {
    expect((await ann!.call("consumer_list", body)).outcome()).toBe(outcome);
  });

  test("returns out_of_scope to a token that does not reach the secret", async () => {
    const narrow = await vault.client(ANN, scopeString({ secret_name: ["other"] }));
    const response = await narrow.call("consumer_list", { key_name: "db" });
    expect(response.outcome()).toBe("403 out_of_scope");
  });
});

describe("a read", () => {
  test("is recorded only when it succeeds, with a well-formed name", async () => {
    await share("W");
    await readFor("c/n/VaultSecret/denied", "expose_link", { key_name: "db", owner: ANN }, bob);
    await readFor("c/n/VaultSecret/missing", "version_expose_link", {
      key_name: "db",
      key_version: 9,
    });
    for (const name of ["", "shop-db", `c/n/Kind/${"x".repeat(200)}`, "c/n/Kind/<b>", "c/n/K/a,b"])
      expect((await readFor(name, "expose_link")).outcome()).toBe("200");
    await readFor(SHOP, "expose_link");
    expect((await swept(1)).map(({ consumer }) => consumer)).toEqual([SHOP]);
  });

  test("has its consumer in the audit log, a malformed one excepted", async () => {
    await readFor(SHOP);
    await readFor("<script>");
    await ann!.upload([{ filename: "f", bytes: Buffer.from("file") }]);
    await readFor(SHOP, "download_file", { filename: "f" });
    const lines = (await readFile(directory.join("audit.jsonl"), "utf8")).trimEnd().split("\n");
    const reads = lines
      .map((line) => JSON.parse(line))
      .filter(({ operation }) => ["expose", "download_file"].includes(operation));
    expect(reads.map(({ about }) => about)).toEqual([
      { key_name: "db", consumer: SHOP },
      { key_name: "db" },
      { filename: "f", consumer: SHOP },
    ]);
  });

  test("of one version is written at most once a minute, of another one immediately", async () => {
    await readFor(SHOP);
    const [first] = await swept(1);
    clock.stepWall(30_000);
    await readFor(SHOP);
    await clock.advance(10_000);
    expect(await listed()).toEqual([first]);
    await readFor(SHOP, "version_expose", { key_name: "db", key_version: 1 });
    await waitUntil("the sweep", async () => {
      await clock.advance(10_000);
      return (await listed())[0]?.version === 1;
    });
  });

  test("does not wait for the write, nor fail with it", async () => {
    const held = await data.hold();
    await using _ = held;
    const advanced = (async () => {
      expect((await readFor(SHOP)).outcome()).toBe("200");
      const sweep = clock.advance(10_000);
      expect((await readFor("c/n/Kind/other")).outcome()).toBe("200");
      await held.commit();
      await sweep;
    })();
    await advanced;
    expect(await swept(2)).toHaveLength(2);
  });

  test("that a stopping server has noted is in the list after its start", async () => {
    await readFor(SHOP);
    await vault[Symbol.asyncDispose]();
    await start();
    expect(await listed({ key_name: "db" }, ann!.at(vault.url))).toMatchObject([
      { consumer: SHOP },
    ]);
  });
});

describe("the consumers of an entry", () => {
  test("are the 50 with the newest reads", async () => {
    for (let number = 0; number < 60; number += 1) {
      await readFor(`c/n/Kind/r${number}`);
      clock.stepWall(1_000);
    }
    const names = (await swept(50)).map(({ consumer }) => consumer);
    expect(names).toEqual(Array.from({ length: 50 }, (_, at) => `c/n/Kind/r${59 - at}`));
  });

  test("of one account are not replaced by the ones that another account makes up", async () => {
    // Given two consumers of the creator.
    await share("R");
    const link = { key_name: "db", owner: ANN };
    for (const real of ["c/n/Kind/one", "c/n/Kind/two"]) await readFor(real, "expose_link", link);
    // When a recipient reads the secret under more names than an entry has.
    for (let number = 0; number < 60; number += 1) {
      clock.stepWall(1_000);
      await readFor(`c/n/Kind/r${number}`, "expose_link", link, bob);
    }
    // Then the recipient's oldest names are gone.
    const left = await swept(50);
    expect(left.filter(({ account }) => account === ANN)).toHaveLength(2);
    expect(left.map(({ consumer }) => consumer).slice(47)).toEqual([
      "c/n/Kind/r12",
      "c/n/Kind/one",
      "c/n/Kind/two",
    ]);
  });

  test("are forgotten 90 days after their last read", async () => {
    await readFor(SHOP);
    await swept(1);
    clock.stepWall(89 * DAY_MS);
    await readFor("c/n/Kind/later");
    expect(await swept(2)).toHaveLength(2);
    clock.stepWall(DAY_MS);
    expect((await swept(1)).map(({ consumer }) => consumer)).toEqual(["c/n/Kind/later"]);
  });

  test("go with the entry: another one of its name has none", async () => {
    await ann!.upload([{ filename: "f", bytes: Buffer.from("file") }]);
    await readFor(SHOP);
    await readFor(SHOP, "download_file", { filename: "f" });
    await swept(1);
    await swept(1, { filename: "f" });
    expect((await ann!.call("delete", { key_name: "db" })).outcome()).toBe("200");
    expect((await ann!.call("delete_file", { filename: "f" })).outcome()).toBe("200");
    await ann!.call("protect", { key_name: "db", key_value: "new" });
    expect(await listed()).toEqual([]);
    expect(await count("secret_consumers")).toBe(0);
    expect(await count("file_consumers")).toBe(0);
  });

  test("are removed with a secret of more consumers than one request removes", async () => {
    for (let number = 0; number < 40; number += 1) await readFor(`c/n/Kind/r${number}`);
    await swept(40);
    expect((await ann!.call("delete", { key_name: "db" })).outcome()).toBe("200");
    expect((await ann!.call("consumer_list", { key_name: "db" })).code()).toBe("secret_not_found");
    await waitUntil("the sweep", async () => {
      await clock.advance(10_000);
      return (await count("secret_consumers")) === 0 && (await count("secrets")) === 0;
    });
  });
});

describe("the commands of an administrator", () => {
  test("delete the reads of an account with the account", async () => {
    await share("R");
    await readFor(SHOP, "expose_link", { key_name: "db", owner: ANN }, bob);
    await readFor("c/n/Kind/own", "expose_link", { key_name: "db" });
    await swept(2);
    expect(await run("user", "delete", BOB, "--yes")).toMatchObject({ code: 0 });
    expect((await listed()).map(({ consumer }) => consumer)).toEqual(["c/n/Kind/own"]);
  });

  test("hand the consumers over with the entry", async () => {
    await ann!.upload([{ filename: "f", bytes: Buffer.from("file") }]);
    await readFor(SHOP);
    await readFor(SHOP, "download_file", { filename: "f" });
    await swept(1);
    await swept(1, { filename: "f" });
    await run("user", "disable", ANN, "--yes");
    expect(await run("user", "hand-over", ANN, BOB, "--secrets")).toMatchObject({
      code: 0,
    });
    expect(await listed({ key_name: "db" }, bob)).toMatchObject([{ consumer: SHOP, account: ANN }]);
    expect(await listed({ filename: "f" }, bob)).toMatchObject([{ consumer: SHOP, account: ANN }]);
  });

  test("keep the consumers in a backup", async () => {
    await ann!.upload([{ filename: "f", bytes: Buffer.from("file") }]);
    await readFor(SHOP);
    await readFor(SHOP, "download_file", { filename: "f" });
    await swept(1);
    await swept(1, { filename: "f" });
    expect(await run("backup", "--to", directory.join("backup"))).toMatchObject({ code: 0 });
    await using restored = await createVaultData();
    const restore = ["vault", "restore", "--from", directory.join("backup")];
    expect(await runInProcess(restore, environment(restored))).toMatchObject({ code: 0 });
    for (const table of ["secret_consumers", "file_consumers"]) {
      const rows = await data.select(`SELECT * FROM ${table}`);
      expect(rows).toMatchObject([{ consumer: SHOP, account: ANN }]);
      expect(await restored.select(`SELECT * FROM ${table}`)).toEqual(rows);
    }
  });
});
