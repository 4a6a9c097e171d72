import { expect, test } from "vitest";
import { VirtualClock } from "../../../../test/lab/clock/virtual-clock.ts";
import type { Store, Transaction, Writer } from "../store/store.ts";
import type { ConsumerUse } from "../store/records.ts";
import { ConsumerUses } from "./consumer-uses.ts";

const MINUTE = 60_000;

function use(changes: Partial<ConsumerUse> = {}): ConsumerUse {
  const entry = { kind: "secret", entryId: "s1", version: 9 } as const;
  return { ...entry, consumer: "c/shop/VaultSecret/db", account: "ops@example.com", ...changes };
}

/** Records what is written: each transaction as its account and the names and versions in it. */
function scene() {
  const clock = new VirtualClock();
  const written: [account: string | undefined, ...rows: string[]][] = [];
  let failing = false;
  const store: Pick<Store, "write"> = {
    async write<T>(work: (transaction: Transaction) => Promise<T>, writer?: Writer): Promise<T> {
      if (failing) throw new Error("unavailable");
      const rows: string[] = [];
      const consumers: Partial<Transaction["consumers"]> = {
        record: async (kind, id, { consumer, version }) =>
          void rows.push(`${kind} ${id} ${consumer.split("/").at(-1)} ${version}`),
      };
      const result = await work({ consumers } as Transaction);
      written.push([writer?.account, ...rows]);
      return result;
    },
  };
  const uses = new ConsumerUses(clock);
  return {
    clock,
    uses,
    fail: (isFailing: boolean) => void (failing = isFailing),
    record: async () => {
      await uses.record(store);
      return written.splice(0);
    },
  };
}

test("ConsumerUses writes each row once, at the cost of the account that read", async () => {
  const { uses, record } = scene();
  for (let read = 0; read < 5; read += 1) uses.note(use());
  uses.note(use({ kind: "file", entryId: "f1" }));
  uses.note(use({ account: "bob@example.com", consumer: "c/shop/VaultSecret/other" }));
  expect(await record()).toEqual([
    ["ops@example.com", "secret s1 db 9", "file f1 db 9"],
    ["bob@example.com", "secret s1 other 9"],
  ]);
  expect(await record()).toEqual([]);
});

test("ConsumerUses writes a row for each account that names the same consumer", async () => {
  const { uses, record } = scene();
  uses.note(use());
  uses.note(use({ account: "bob@example.com" }));
  expect(await record()).toEqual([
    ["ops@example.com", "secret s1 db 9"],
    ["bob@example.com", "secret s1 db 9"],
  ]);
});

test("ConsumerUses writes the same version once a minute, and another one immediately", async () => {
  const { clock, uses, record } = scene();
  const rows: unknown[] = [];
  for (let second = 0; second < 180; second += 10) {
    uses.note(use());
    if (second === 30) uses.note(use({ version: 10 }));
    rows.push(...(await record()).map(([, ...written]) => [second, ...written]));
    clock.stepWall(10_000);
  }
  expect(rows).toEqual([
    [0, "secret s1 db 9"],
    [30, "secret s1 db 10"],
    [60, "secret s1 db 9"],
    [120, "secret s1 db 9"],
  ]);
});

test("ConsumerUses writes what a failed write left, and what was noted since", async () => {
  const { clock, uses, record, fail } = scene();
  uses.note(use());
  fail(true);
  await expect(record()).rejects.toThrow("unavailable");
  clock.stepWall(MINUTE);
  uses.note(use({ version: 10 }));
  fail(false);
  expect(await record()).toEqual([["ops@example.com", "secret s1 db 10"]]);
});

test("ConsumerUses divides long writes, and notes a bounded number of uses", async () => {
  const { uses, record } = scene();
  for (let row = 0; row < 25_000; row += 1) uses.note(use({ entryId: `s${row}` }));
  const written = await record();
  expect(Math.max(...written.map((rows) => rows.length - 1))).toBe(100);
  expect(written.reduce((sum, rows) => sum + rows.length - 1, 0)).toBe(20_000);
});

test("ConsumerUses notes the uses of each account, however many another one has", async () => {
  // Given a server that has noted as much as it keeps, for one account.
  const { uses, record } = scene();
  for (let row = 0; row < 20_000; row += 1) uses.note(use({ entryId: `s${row}` }));
  // When others read, and the first one continues.
  const accounts = ["bob@example.com", "cid@example.com"];
  for (let row = 0; row < 50; row += 1)
    for (const account of accounts) uses.note(use({ account, entryId: `s${row}` }));
  for (let row = 0; row < 1_000; row += 1) uses.note(use({ entryId: `t${row}` }));
  // Then only its oldest uses are missing. It may note these again.
  uses.note(use({ entryId: "s0" }));
  const rows = Map.groupBy(await record(), ([account]) => account);
  const numbers = [...rows].map(([account, pages]) => [
    account,
    pages.flatMap((page) => page.slice(1)).length,
  ]);
  expect(numbers).toEqual([
    ["ops@example.com", 19_900],
    ["bob@example.com", 50],
    ["cid@example.com", 50],
  ]);
  uses.note(use({ entryId: "s0" }));
  expect(await record()).toEqual([["ops@example.com", "secret s0 db 9"]]);
});

test("ConsumerUses shares its bound evenly among accounts that all want it", async () => {
  const { uses, record } = scene();
  for (const account of ["a", "b", "c", "d"])
    for (let row = 0; row < 20_000; row += 1) uses.note(use({ account, entryId: `s${row}` }));
  const rows = Map.groupBy(await record(), ([account]) => account);
  for (const pages of rows.values())
    expect(Math.abs(pages.flatMap((page) => page.slice(1)).length - 5_000)).toBeLessThan(10);
});

test("ConsumerUses notes uses after the wall clock was set back", async () => {
  const { clock, uses, record } = scene();
  uses.note(use());
  expect(await record()).toHaveLength(1);
  clock.stepWall(-3 * MINUTE);
  uses.note(use());
  expect(await record()).toHaveLength(1);
});
