import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { spyOnStatements } from "../lab/vault/statement-spy.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultResponse } from "../lab/vault/vault-client.ts";

const directory = new TestDirectory();
const [ann, bob] = ["ann@example.com", "bob@example.com"];
/**
 * With `VAULTSYNC_TEST_LARGE=1`, 300,000 grants of a secret and 200 values of 1 MiB, and the CPU
 * time of the longest statements is printed.
 */
const isLarge = process.env["VAULTSYNC_TEST_LARGE"] === "1";
const GRANTS = isLarge ? 300_000 : 10_000;
/** Versions of a secret, and other secrets, with a value of 1 MiB each. */
const VERSIONS = isLarge ? 200 : 20;
const SECRETS = isLarge ? 200 : 80;
/**
 * Rows of one statement that reads only short columns, and rows with values of 1 MiB that one
 * statement passes.
 */
const MOST_ROWS = 2_002;
const MOST_VALUES = 32;

const numbers = (count: number): string =>
  `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`;

/** Adds rows to the data that the requests of a test could add only in minutes. */
function insertRows(data: string): void {
  using database = new DatabaseSync(data, { timeout: 30_000 });
  // Each grantee has an account, whose list gets a new revision when the secret changes.
  database.exec(`BEGIN;
    INSERT INTO users (email, password_hash, created_at) ${numbers(GRANTS)} SELECT 'user' || i || '@example.com', '', 0 FROM n;
    INSERT INTO person_grants (secret_id, email, reads, writes)
      ${numbers(GRANTS)} SELECT s.id, 'user' || i || '@example.com', 1, 0 FROM n, secrets AS s WHERE s.name IN ('granted', 'due');
    INSERT INTO secrets (id, owner, name, next_version, delete_minutes, delete_at)
      ${numbers(SECRETS)} SELECT 'id-' || i, owner, 'value-' || i, 2, delete_minutes, delete_at FROM n, secrets AS s WHERE s.name = 'versions';
    INSERT INTO secret_versions (secret_id, version, metadata, created_at, created_by, updated_at, key_id, wrapped_key, sealed)
      ${numbers(SECRETS)} SELECT 'id-' || i, 1, metadata, created_at, created_by, v.updated_at, key_id, wrapped_key, zeroblob(1048576)
      FROM n, secret_versions AS v JOIN secrets AS s ON s.id = v.secret_id WHERE s.name = 'versions';
    INSERT INTO secret_versions (secret_id, version, metadata, created_at, created_by, updated_at, key_id, wrapped_key, sealed)
      ${numbers(VERSIONS)} SELECT secret_id, i + 1, metadata, created_at, created_by, v.updated_at, key_id, wrapped_key, zeroblob(1048576)
      FROM n, secret_versions AS v JOIN secrets AS s ON s.id = v.secret_id WHERE s.name = 'versions';
    UPDATE secrets SET next_version = ${VERSIONS + 2} WHERE name = 'versions';
    COMMIT`);
}

interface Most {
  /**
   * Rows that one statement returned or changed, and rows of a statement that reads versions of
   * secrets.
   */
  rows: number;
  versions: number;
  /** Versions, grants and secrets that all statements erased. */
  erased: number;
  /** CPU time of one statement, in milliseconds. */
  ms: number;
}

/** Records what the statements of the server's SQLite connections do. */
function recordStatements(): Disposable & { readonly most: Most } {
  const most: Most = { rows: 0, versions: 0, erased: 0, ms: 0 };
  const measured = <T>(sql: string, work: () => T, rowsOf: (result: T) => number): T => {
    const start = process.threadCpuUsage();
    const result = work();
    const { user, system } = process.threadCpuUsage(start);
    const rows = rowsOf(result);
    const kind = /SELECT .*\bcreated_by\b/su.test(sql) ? "versions" : "rows";
    most[kind] = Math.max(most[kind], rows);
    most.ms = Math.max(most.ms, (user + system) / 1000);
    if (/DELETE FROM (?:secret_versions|person_grants|secrets)/u.test(sql)) most.erased += rows;
    return result;
  };
  const spies = spyOnStatements(measured);
  return { most, [Symbol.dispose]: () => spies[Symbol.dispose]() };
}

test("no statement of a request reads or changes more rows the more a secret has", async () => {
  const clock = new VirtualClock();
  const data = directory.join("vault.db");
  await using vault = await TestVault.start({ data, clock, limits: { requestBurst: 1e7 } });
  const [caller, other] = [
    await vault.client(ann, undefined, 1e6),
    await vault.client(bob, undefined, 1e6),
  ];
  for (const [key_name, more] of [
    ["granted"],
    ["versions"],
    ["due", { delete_time: 5 }],
  ] as const) {
    expect((await caller.call("protect", { key_name, key_value: "v", ...more })).status).toBe(200);
  }
  const share = { key_name: ["granted"], usr_id_from: ann, usr_id_to: [bob], permission: "RW" };
  expect((await caller.call("share", share)).status).toBe(200);
  expect((await other.call("protect", { key_name: "of bob", key_value: "v" })).status).toBe(200);
  insertRows(data);

  const recipients = Array.from({ length: 200 }, (_, index) => `user${index + 10}@example.com`);
  const requests: Record<string, () => Promise<VaultResponse>> = {
    list: () => caller.call("list_no_dup"),
    "list of a recipient": () => other.call("list_no_dup"),
    versions: () => caller.call("version_list", { key_name: "versions" }),
    expose: () => caller.call("version_expose", { key_name: "versions", key_version: 1 }),
    "expose of a grantee": () => other.call("expose_link", { key_name: "granted" }),
    protect: () => caller.call("protect", { key_name: "versions", key_value: "w" }),
    "protect of a grantee": () =>
      other.call("protect_link", { key_name: "granted", key_value: "w", without_list: 1 }),
    "share with 200": () =>
      other.call("share", {
        key_name: "of bob",
        usr_id_from: bob,
        usr_id_to: recipients,
        permission: "R",
      }),
    "unshare of one": () =>
      caller.call("unshare", { key_name: "granted", usr_id_to: "user7@example.com" }),
    "dismissed share": () => other.call("delete_shared_key_link", { key_name: "granted" }),
    "protect of a due name": () => {
      clock.stepWall(6 * 60_000);
      return caller.call("protect", { key_name: "due", key_value: "w" });
    },
    "delete of many versions": () => caller.call("delete", { key_name: "versions" }),
    "delete of many grants": () => caller.call("delete", { key_name: "granted" }),
  };
  const exceeding: string[] = [];
  for (const [name, request] of Object.entries(requests)) {
    using recorded = recordStatements();
    expect((await request()).outcome(), name).toBe("200");
    const { rows, versions, erased, ms } = recorded.most;
    if (isLarge) process.stdout.write(`${name}: longest statement ${ms.toFixed(1)} ms\n`);
    // One grant at most: the grant of the request.
    if (rows > MOST_ROWS || versions > MOST_VALUES || erased > 1)
      exceeding.push(`${name}: ${JSON.stringify(recorded.most)}`);
  }
  expect(exceeding).toEqual([]);
});
