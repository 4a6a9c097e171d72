import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { expect, inject, test } from "vitest";
import { generateMasterKey } from "../../../src/vault/server/crypto/master-key.ts";
import { openPostgresStore } from "../../../src/vault/server/store/postgres/postgres-store.ts";
import { failureOf } from "../../lab/assertions/failure-of.ts";
import { PostgresCluster } from "../../lab/postgres/postgres-cluster.ts";
import { PostgresDatabase } from "../../lab/postgres/postgres-database.ts";
import { Replicas } from "../../lab/vault/replicas.ts";
import { TestVault } from "../../lab/vault/test-vault.ts";
import { sendRequest, VaultClient } from "../../lab/vault/vault-client.ts";
import { StoreLocation } from "../../lab/vault/store-location.ts";
import { VaultServerProcess } from "../../lab/real/processes/vault-server-process.ts";
import { waitUntil } from "../../lab/clock/wait-until.ts";

const message = async (url: string): Promise<string> =>
  String(await failureOf(openPostgresStore(url)));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

type Acknowledged = [version: number, value: string][];

/**
 * Writes versions of a secret with four writers until stopped or disconnected; collects
 * acknowledged versions.
 */
async function write(
  client: VaultClient,
  url: string,
  stop: AbortSignal,
  acknowledged: Acknowledged,
): Promise<void> {
  const writer = async (): Promise<void> => {
    using own = client.at(url);
    while (!stop.aborted) {
      const value = randomUUID();
      const response = await own
        .call("protect", { key_name: "a", key_value: value })
        .catch(() => undefined);
      if (response?.status !== 200) return;
      acknowledged.push([response.json().secret.key_version, value]);
    }
  };
  await Promise.all(upTo(4).map(writer));
}

test("killing one of two replicas during writes does not affect the other", async () => {
  await using database = await PostgresDatabase.create();
  await using place = await StoreLocation.create("postgres", database.url);
  const password = randomUUID();
  await place.addAccounts(["ann@example.com"], password);
  await using survivor = await VaultServerProcess.start(place.args);
  await using victim = await VaultServerProcess.start([...place.args, "--audit-log", "none"]);
  using one = new VaultClient(survivor.url, "ann@example.com", { keepAlive: true });
  expect((await one.logIn(password)).status).toBe(200);
  const ended = new AbortController();
  const survived: Acknowledged = [];
  const died: Acknowledged = [];
  const surviving = write(one, survivor.url, ended.signal, survived);
  const dying = write(one, victim.url, ended.signal, died);
  await waitUntil("writes through both", () => died.length > 3 && survived.length > 3);
  await victim.stop("SIGKILL");
  await dying;
  const before = survived.length;
  await waitUntil("writes through the one that is left", () => survived.length > before + 10);
  ended.abort();
  await surviving;
  const all = new Map([...died, ...survived]);
  expect(all.size).toBe(died.length + survived.length);
  const listed: { key_version: number }[] = (
    await one.call("version_list", { key_name: "a" })
  ).json().versions;
  expect(listed.map(({ key_version }) => key_version)).toEqual(upTo(listed.length));
  for (const [key_version, value] of [...died, ...survived.slice(-20)]) {
    expect(
      (await one.call("version_expose", { key_name: "a", key_version })).json().key_value,
    ).toBe(value);
  }
});

test("requests are unavailable while the database restarts or crashes, then recover", async () => {
  await using cluster = await PostgresCluster.start();
  const data = cluster.url();
  await using vault = await TestVault.start({ data, masterKey: generateMasterKey() });
  const ann = await vault.client("ann@example.com");
  const acknowledged: number[] = [];
  const refused = new Set<string>();
  const ended = new AbortController();
  const writers = Array.from({ length: 8 }, async () => {
    while (!ended.signal.aborted) {
      const response = await ann.call("protect", { key_name: "a", key_value: "v" });
      if (response.status === 200) acknowledged.push(response.json().secret.key_version);
      else refused.add(`${response.outcome()} ${response.headers["retry-after"]}`);
    }
  });
  for (const mode of ["fast", "immediate"] as const) {
    await sleep(300);
    await cluster.down(mode);
    expect((await ann.call("list_no_dup")).outcome()).toBe("503 unavailable");
    expect((await vault.logIn("bob@example.com")).outcome()).toBe("503 unavailable");
    expect((await sendRequest(`${vault.url}/readyz`, { method: "GET" })).outcome()).toBe(
      "503 unavailable",
    );
    await cluster.up();
    const before = acknowledged.length;
    await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(before);
  }
  ended.abort();
  await Promise.all(writers);
  expect([...refused]).toEqual(["503 unavailable 1"]);
  const listed: { key_version: number }[] = (
    await ann.call("version_list", { key_name: "a" })
  ).json().versions;
  const versions = new Set(listed.map(({ key_version }) => key_version));
  expect(acknowledged.filter((version) => !versions.has(version))).toEqual([]);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);
});

test("reads of an account with all its connections end after a wait, reads of another are served", async () => {
  await using replicas = await Replicas.start();
  const [one, two] = await replicas.client("ann@example.com");
  expect((await one.call("protect", { key_name: "a", key_value: "v" })).status).toBe(200);
  const locker = new Client({ connectionString: replicas.database.url });
  await locker.connect();
  await locker.query("BEGIN; LOCK TABLE secret_versions IN ACCESS EXCLUSIVE MODE");
  const [bob] = await replicas.client("bob@example.com");
  // Three connections wait for the lock; other reads of the account wait for one of them.
  const blocked = upTo(3).map(() => one.call("expose", { key_name: "a" }));
  const inUse = `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await expect.poll(async () => (await replicas.database.run(inUse)).rows[0].count).toBe(3);
  const late = upTo(5).map(() => one.call("list_file"));
  expect((await bob.call("list_file")).status).toBe(200);
  const waiting = await Promise.all(late);
  expect(
    waiting.map((response) => `${response.outcome()} ${response.headers["retry-after"]}`),
  ).toEqual(upTo(5).map(() => "503 unavailable 1"));
  expect((await sendRequest(`${replicas.one.url}/healthz`, { method: "GET" })).status).toBe(200);
  expect((await two.call("list_file")).status).toBe(200);
  await locker.query("ROLLBACK");
  await locker.end();
  const outcomes = new Set((await Promise.all(blocked)).map((response) => response.outcome()));
  expect([...outcomes]).toEqual(["200"]);
  expect((await one.call("list_file")).status).toBe(200);
});

test("a failed connection says what to do and never shows the password", async () => {
  const local = new URL(inject("postgres").url);
  expect(await message("postgres://u:canary-password@127.0.0.1:1/vault")).toBe(
    "StoreUnavailableError: cannot connect to the PostgreSQL database vault at 127.0.0.1:1: check that it is running and that the URL is correct",
  );
  local.pathname = "/missing";
  expect(await message(local.href)).toMatch(
    /database missing at .* does not exist: create it, with ENCODING 'UTF8'$/u,
  );
  local.searchParams.set("user", "unknown");
  expect(await message(local.href)).toMatch(/rejected the user: set PGPASSWORD/u);
});
