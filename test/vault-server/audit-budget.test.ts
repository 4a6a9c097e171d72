import { createHash } from "node:crypto";
import { stat } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import { rotatedSegments } from "../../src/vault/server/audit/audit-file.ts";
import { selectEntries } from "../../src/vault/server/audit/select-entries.ts";
import { verifyAuditLog } from "../../src/vault/server/audit/verify-audit-log.ts";
import type { VaultServerOptions } from "../../src/vault/server/vault-server.ts";
import { auditEntries } from "../lab/vault/audit-entries.ts";
import { pump, VirtualClock } from "../lab/clock/virtual-clock.ts";
import { TestDirectory } from "../lab/test-directory.ts";
import { TestVault } from "../lab/vault/test-vault.ts";
import type { VaultResponse } from "../lab/vault/vault-client.ts";

const directory = new TestDirectory();
let file: string;
let clock: VirtualClock;
beforeEach(() => {
  file = directory.join("audit.jsonl");
  clock = new VirtualClock();
});

const ann = "ann@example.com";
const bob = "bob@example.com";
/** The longest names in a line: each character is written in six bytes. */
const WIDE_NAMES = Array.from({ length: 11 }, (_, index) =>
  String.fromCharCode(0xe000 + index).repeat(256),
);

const start = (options: Partial<VaultServerOptions> = {}): Promise<TestVault> =>
  TestVault.start({ auditLog: { file }, clock, ...options });
const logBytes = async (): Promise<number> => (await stat(file)).size;

const entries = (): ReturnType<typeof auditEntries> => auditEntries(file);

async function leftBy({ headers }: VaultResponse) {
  return (await entries()).filter(({ request }) => request === headers["x-request-id"]);
}

/** Returns operation and phase of the entries about a name. */
async function phasesOf(name: string): Promise<unknown[]> {
  return (await Array.fromAsync(selectEntries([file], { name }))).map(({ fields }) => [
    fields.operation,
    fields.phase,
  ]);
}

/** Sends requests one after another; returns how many had each outcome. */
async function outcomesOf(
  times: number,
  send: () => Promise<VaultResponse>,
): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {};
  for (let sent = 0; sent < times; sent += 1) {
    const outcome = (await send()).outcome();
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return outcomes;
}

test("a rejected deletion of eleven wide names leaves at most 4 KiB in the audit log", async () => {
  await using vault = await start();
  const caller = await vault.client(ann);
  const before = await logBytes();
  expect((await caller.call("delete", { key_name: WIDE_NAMES })).outcome()).toBe(
    "404 secret_not_found",
  );
  expect((await logBytes()) - before).toBeLessThan(4096);
});

test("each started KiB of a line beyond the first one counts as a request of the account", async () => {
  await using vault = await start({ limits: { requestsPerSecond: 10, requestBurst: 10 } });
  const [one, two, three] = [
    await vault.client(ann),
    await vault.client(ann),
    await vault.client(ann),
  ];
  // Of the 40 requests of the account, each of these takes one, and two for the line before the
  // effect.
  expect(await outcomesOf(10, () => one.call("delete", { key_name: WIDE_NAMES }))).toEqual({
    "404 secret_not_found": 10,
  });
  expect(await outcomesOf(5, () => two.call("token_list"))).toEqual({ "200": 5 });
  expect(await outcomesOf(6, () => three.call("token_list"))).toEqual({
    "200": 5,
    "429 rate_limited": 1,
  });
});

test("an account that fills its share of the log is rate-limited until the share has grown", async () => {
  const auditBytesPerHour = 30_000;
  await using vault = await start({
    limits: { auditBytesPerHour, rejectionsPerSecond: 1, rejectionBurst: 100 },
  });
  const [caller, other] = [await vault.client(ann), await vault.client(bob)];
  const before = await logBytes();
  const outcomes = await outcomesOf(60, () => caller.call("delete", { key_name: WIDE_NAMES }));
  expect(outcomes["404 secret_not_found"]).toBeGreaterThan(4);
  expect(outcomes["429 rate_limited"]).toBeGreaterThan(40);
  expect((await logBytes()) - before).toBeLessThan(auditBytesPerHour + 4096);
  const limited = await caller.call("expose", { key_name: "a" });
  expect(limited.outcome()).toBe("429 rate_limited");
  expect(limited.json().error.message).toBe(
    "the requests of this account fill the audit log too fast; retry later",
  );
  expect((await other.call("list_no_dup")).status).toBe(200);
  await clock.advance(600_000);
  expect((await caller.call("list_no_dup")).status).toBe(200);
  const rejected = async (): Promise<number> => {
    const summary = (await entries()).filter(
      ({ event, who }) => event === "rejected" && who === ann,
    );
    return summary.reduce((sum, { requests }) => sum + Number(requests), 0);
  };
  await expect.poll(rejected).toBe((outcomes["429 rate_limited"] ?? 0) + 1);
});

test("invalid bodies with a valid token count as requests and fill only the account's share", async () => {
  const limits = {
    requestsPerSecond: 1,
    requestBurst: 5,
    auditBytesPerHour: 3000,
    rejectionsPerSecond: 1,
    rejectionBurst: 100,
  };
  await using vault = await start({ limits });
  const caller = await vault.client(ann);
  const before = await logBytes();
  const outcomes = await outcomesOf(40, () => caller.call("expose", { key_name: [] }));
  expect(outcomes).toEqual({ "400 invalid_request": 5, "429 rate_limited": 35 });
  expect((await logBytes()) - before).toBeLessThan(5000);
});

test("rate-limited requests whose response is delayed leave no line each, but a summary", async () => {
  await using vault = await start({
    limits: {
      requestsPerSecond: 0.001,
      requestBurst: 5,
      rejectionsPerSecond: 0.001,
      rejectionBurst: 4,
    },
  });
  const caller = await vault.client(ann);
  const outcomes = await outcomesOf(9, () => caller.call("list_no_dup"));
  expect(outcomes).toEqual({ "200": 5, "429 rate_limited": 4 });
  const delayed = Array.from({ length: 3 }, () => caller.call("list_no_dup"));
  for (const one of delayed) expect((await pump(clock, one)).outcome()).toBe("429 rate_limited");
  expect((await entries()).filter(({ status }) => status === 429)).toHaveLength(4);
  const summaries = async (): Promise<unknown> => {
    await clock.advance(10_000);
    return (await entries()).filter(({ event }) => event === "rejected");
  };
  await expect.poll(summaries).toMatchObject([{ who: ann, requests: 3 }]);
});

test("with low disk space an account gets a request a second, and all deletions that succeed", async () => {
  const disk = { free: 10_000_000 };
  const limits = { lowSpaceBurst: 5, rejectionsPerSecond: 1, rejectionBurst: 100 };
  await using vault = await start({
    data: directory.join("vault.db"),
    lowSpace: { bytes: 1_000_000, freeBytes: async () => disk.free },
    limits,
  });
  const caller = await vault.client(ann);
  const names = Array.from({ length: 30 }, (_, index) => `name-${index}`);
  for (const key_name of names)
    expect((await caller.call("protect", { key_name, key_value: "x" })).status).toBe(200);
  disk.free = 900_000;
  await clock.advance(5000);
  await expect.poll(() => vault.metric('vaultsync_vault_low_space{volume="data"}')).toBe(1);

  for (const key_name of names.slice(0, 20))
    expect((await caller.call("delete", { key_name })).status).toBe(200);
  const rejected = await outcomesOf(20, () => caller.call("delete", { key_name: "none" }));
  expect(rejected).toEqual({ "404 secret_not_found": 5, "429 rate_limited": 15 });
  const limited = await caller.call("expose", { key_name: "name-20" });
  expect(limited.outcome()).toBe("429 rate_limited");
  expect(limited.json().error.message.split(" and ")[0]).toBe("the server is low on disk space");
  await clock.advance(2000);
  expect(await outcomesOf(3, () => caller.call("expose", { key_name: "name-20" }))).toEqual({
    "200": 2,
    "429 rate_limited": 1,
  });
  expect((await vault.client(bob)).token).not.toBe("");
});

test("the first line has ten names and a digest of a list, that of a success has the list", async () => {
  await using vault = await start();
  const caller = await vault.client(ann);
  const key_name = Array.from({ length: 25 }, (_, index) => `name-${index}`);
  for (const name of key_name) await caller.call("protect", { key_name: name, key_value: "x" });
  const sha256 = createHash("sha256").update(JSON.stringify(key_name)).digest("hex");
  const brief = {
    key_name: key_name.slice(0, 10),
    of: { key_name: 25 },
    sha256: { key_name: sha256 },
  };
  const [begin, end] = await leftBy(await caller.call("delete", { key_name }));
  expect(begin.about).toEqual(brief);
  expect(end.about).toEqual({ key_name });
  expect(end.status).toBe(200);
  const [again, rejected] = await leftBy(await caller.call("delete", { key_name }));
  expect(again.about).toEqual(brief);
  expect(rejected.about).toBeUndefined();
  expect(rejected.status).toBe(404);
});

test("a segment beyond the retention is removed by the next sweep, and the log stays intact", async () => {
  await using vault = await start({
    auditLog: { file, maxBytes: 4000, retention: { bytes: 12_000 } },
  });
  const caller = await vault.client(ann);
  for (let sent = 0; sent < 60; sent += 1) await caller.call("list_no_dup");
  expect((await rotatedSegments(file)).length).toBeGreaterThan(5);
  const segmentsAfterSweep = async (): Promise<number> => {
    await clock.advance(10_000);
    return (await rotatedSegments(file)).length;
  };
  await expect.poll(segmentsAfterSweep).toBeLessThan(4);
  // Between the line that says so and the removal of the last segment, some are missing.
  const damage = async (): Promise<unknown> =>
    (await verifyAuditLog([...(await rotatedSegments(file)), file])).damage;
  await expect.poll(damage).toBeUndefined();
});

test("both lines of a request are found by a name that only the first one has", async () => {
  await using vault = await start();
  const caller = await vault.client(ann);
  const key_name = Array.from({ length: 12 }, (_, index) => `name-${index}`);
  for (const name of key_name) await caller.call("protect", { key_name: name, key_value: "x" });
  await caller.call("delete", { key_name });
  const protectedOnce = [
    ["protect", "begin"],
    ["protect", "end"],
  ];
  expect(await phasesOf("name-0")).toEqual([
    ...protectedOnce,
    ["delete", "begin"],
    ["delete", "end"],
  ]);
  expect(await phasesOf("name-11")).toEqual([...protectedOnce, ["delete", "end"]]);
});
