import { CONSUMER } from "../lab/vault/secret-record.ts";
import { createHash, randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { failureOf } from "../lab/assertions/failure-of.ts";
import { listSoon, recordOf, textOf } from "../lab/vault/scripted-vault.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultResponse } from "../lab/vault/vault-client.ts";
import {
  observeConnection,
  passwordSource,
  referencesTo,
  untilHealthy,
  type ObservedConnection,
  type ObserveOptions,
} from "../lab/vault/vault-connection.ts";
import { pump, VirtualClock } from "../lab/clock/virtual-clock.ts";
import { unlimitedScope } from "../../src/protocol/scope.ts";
import type { FileRecord } from "../../src/operator/vault-client/connection.ts";

const signal = new AbortController().signal;
const email = "ann@example.com";

async function stored(response: Promise<VaultResponse>): Promise<void> {
  expect((await response).status).toBe(200);
}

/** Starts the reference server, with an account that stores secrets and files. */
async function started() {
  const clock = new VirtualClock();
  const vault = await TestVault.start({ emails: [email], clock });
  onTestFinished(() => vault[Symbol.asyncDispose]());
  const client = await vault.client(email, undefined, 10_000);
  return {
    clock,
    protect: (key_name: string, key_value: string, more: object = {}): Promise<void> =>
      stored(client.call("protect", { key_name, key_value, ...more })),
    upload: (filename: string, bytes: Uint8Array): Promise<void> =>
      stored(client.upload([{ filename, bytes }])),
    /** Resolves when the server holds a list. */
    async untilHeld(): Promise<void> {
      await expect.poll(() => vault.metric("vaultsync_vault_waiting_lists")).toBe(1);
    },
    /** Opens a connection and waits for its first list. */
    connect(options: Partial<ObserveOptions> = {}): Promise<ObservedConnection> {
      const credentials = passwordSource(vault.passwords.get(email) ?? "");
      return untilHealthy(
        observeConnection({ url: vault.url, email, credentials, ...options, clock }),
      );
    },
  };
}

function fileOf({ connection }: ObservedConnection, name: string): FileRecord {
  return connection.snapshot!.file(name)!;
}

test("follows a secret through its versions and keeps reading a pinned one", async () => {
  const vault = await started();
  await vault.protect("shop-db", "canary-one", {
    metadata: { description: "orders", custom: { a: [1] } },
  });
  const observed = await vault.connect({ references: referencesTo(["shop-db"]) });
  expect(recordOf(observed, "shop-db")).toMatchObject({
    owner: email,
    version: 1,
    shared: false,
    metadata: { description: "orders", environment_type: "dev", custom: { a: [1] } },
    expiresAt: vault.clock.now() + 10 * 86_400_000,
    deleteAt: vault.clock.now() + 525_600_000 * 60_000,
  });
  expect(await textOf(observed, "shop-db", 1)).toEqual(["canary-one", 1]);
  await vault.protect("shop-db", "canary-two");
  await listSoon(observed);
  await expect.poll(() => observed.changes).toHaveLength(2);
  expect(recordOf(observed, "shop-db").version).toBe(2);
  expect(await textOf(observed, "shop-db", 2)).toEqual(["canary-two", 2]);
  expect(await textOf(observed, "shop-db", 1)).toEqual(["canary-one", 1]);
});

test("an unchanged list returns 304 for its entity tag", async () => {
  const vault = await started();
  await vault.protect("a", "canary");
  const observed = await vault.connect();
  await listSoon(observed);
  await expect.poll(() => observed.connection.snapshot?.progress("secret")?.lists).toBe(2);
  expect(observed.requests).toEqual([
    "generate_access_token ok",
    "list_no_dup ok",
    "list_no_dup unchanged",
  ]);
  expect(observed.changes).toHaveLength(1);
});

test("a change ends the held list, and an idle connection sends one list per 50 s", async () => {
  const vault = await started();
  await vault.protect("a", "canary-one");
  const observed = await vault.connect({ follow: "Auto" });
  const lists = (): number =>
    observed.requests.filter((request) => request.startsWith("list_no_dup")).length;
  // The first list, the request that finds out that the server waits, and 50 s each.
  await pump(observed.clock, () => lists() === 2);
  for (let held = 0; held < 6; held += 1) {
    // A slow server has the request only after a while.
    await vault.untilHeld();
    const due = observed.clock.monotonic() + 50_000;
    await pump(observed.clock, () => observed.clock.monotonic() >= due, 1_000);
    // In small steps: on a slow machine the deadline of the client must not pass before the response.
    await pump(observed.clock, () => lists() >= 3 + held, 10);
  }
  expect(lists()).toBe(8);
  expect(observed.clock.monotonic()).toBeGreaterThan(300_000);
  await vault.untilHeld();
  const before = observed.clock.monotonic();
  await vault.protect("a", "canary-two");
  // A server that is busy may pause for some time of its clock.
  await pump(observed.clock, () => recordOf(observed, "a").version === 2, 1);
  expect(observed.clock.monotonic() - before).toBeLessThan(40_000);
  expect(observed.changes).toHaveLength(2);
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy"]);
});

test("a secret leaves the snapshot at its delete time", async () => {
  const vault = await started();
  await vault.protect("short", "canary", { delete_time: 1 });
  const observed = await vault.connect({
    refreshIntervalMs: 3_600_000,
    references: referencesTo(["short"]),
  });
  await vault.clock.advance(360_000);
  await expect.poll(() => observed.connection.snapshot?.secretCount).toBe(0);
  expect(observed.changes).toEqual([
    { secrets: ["short"], files: [] },
    { secrets: ["short"], files: [] },
  ]);
});

test("downloads return the exact bytes of each version", async () => {
  const vault = await started();
  const [first, second] = [Uint8Array.from(randomBytes(100_000)), Uint8Array.from([0, 255])];
  await vault.upload("blob.bin", first);
  await vault.upload("blob.bin", second);
  const observed = await vault.connect({ references: referencesTo([], ["blob.bin"]) });
  await expect.poll(() => observed.connection.snapshot?.fileCount).toBe(1);
  const record = fileOf(observed, "blob.bin");
  expect(record.versions.map(({ version, size, sha256 }) => [version, size, sha256])).toEqual(
    [first, second].map((bytes, at) => [
      at + 1,
      bytes.length,
      createHash("sha256").update(bytes).digest("hex"),
    ]),
  );
  for (const [at, bytes] of [first, second].entries()) {
    const content = await observed.connection.reader(record, CONSUMER)(at + 1, signal);
    expect(content.version).toBe(at + 1);
    expect(Buffer.from(content.bytes.reveal()).equals(bytes)).toBe(true);
  }
});

test("secret values return byte for byte", async () => {
  const vault = await started();
  const values = [
    "",
    " ",
    "line\r\nline\n",
    "😀",
    "a\0b",
    "\uFEFF",
    "x".repeat(100_000),
    '{"key_value":"inner"}',
  ];
  for (const [at, each] of values.entries()) await vault.protect(`value-${at}`, each);
  const observed = await vault.connect({
    references: referencesTo(values.map((_, at) => `value-${at}`)),
  });
  for (const [at, each] of values.entries())
    expect(await textOf(observed, `value-${at}`, 1)).toEqual([each, 1]);
});

test("the connection refreshes its token beyond its lifetime", async () => {
  const vault = await started();
  const observed = await vault.connect({
    tokenLifetimeMs: 3_600_000,
    refreshIntervalMs: 30 * 60_000,
  });
  for (let half = 0; half < 6; half += 1) {
    await vault.clock.advance(30 * 60_000);
    await expect.poll(() => observed.connection.snapshot?.progress("secret")?.lists).toBe(half + 2);
    await vault.clock.advance(0);
  }
  expect(observed.healths.map(({ state }) => state)).toEqual(["healthy"]);
  expect(observed.requests.filter((request) => request.startsWith("generate"))).toHaveLength(1);
  expect(
    observed.requests.filter((request) => request === "refresh_token ok").length,
  ).toBeGreaterThanOrEqual(2);
});

test("a narrowed scope lists its secrets, including names with commas and stars", async () => {
  const vault = await started();
  const names = ["plain", "a,b:c d%2A", "*", "all", "größe 😀"];
  for (const name of [...names, "other"]) await vault.protect(name, `canary ${name}`);
  const observed = await vault.connect({
    scope: { ...unlimitedScope, secret_name: new Set(names) },
    references: referencesTo(names),
  });
  expect(observed.connection.snapshot?.secretCount).toBe(names.length);
  expect(observed.changes).toEqual([{ secrets: [...names].sort(), files: [] }]);
  for (const name of names) expect(await textOf(observed, name, 1)).toEqual([`canary ${name}`, 1]);
  const foreign = { ...recordOf(observed, "plain"), name: "other" };
  const failure = await failureOf(observed.connection.reader(foreign, CONSUMER)(1, signal));
  expect(failure).toMatchObject({ kind: "permanent", code: "out_of_scope" });
});

test("reading an unknown version fails with version_not_found", async () => {
  const vault = await started();
  await vault.protect("a", "canary");
  const observed = await vault.connect();
  expect(await failureOf(textOf(observed, "a", 7))).toMatchObject({
    kind: "permanent",
    code: "version_not_found",
  });
});
