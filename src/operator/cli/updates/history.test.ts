import { describe, expect, test } from "vitest";
import type { SyncStatus } from "../../sync/stored-status.ts";
import { versionAt } from "./entry-versions.ts";
import { entriesOf, versionRows } from "./history.ts";

const DAY = Date.UTC(2026, 10, 21);
const listed = [1, 2, 3].map((version) => ({
  version,
  createdAt: DAY + version * 1_000,
  createdBy: `user${version}@example.com`,
}));
const db = { kind: "secret", name: "db", owner: undefined } as const;
const waiting: SyncStatus = {
  conditions: [
    {
      type: "UpdateAvailable",
      status: "True",
      reason: "AwaitingApproval",
      message: "",
      lastTransitionTime: new Date(DAY).toISOString(),
    },
  ],
  items: [
    { secretKey: "new", key: "db", version: 2, latest: 3 },
    { secretKey: "old", key: "db", version: 1, latest: 3 },
    { secretKey: "theirs", key: "db", owner: "ann@example.com", version: 7, latest: 7 },
  ],
};

test("a status has the entries of its items, each once", () => {
  expect(entriesOf(waiting)).toEqual([db, { ...db, owner: "ann@example.com" }]);
  expect(entriesOf({ items: [{ key: "a", filename: "a.txt" }] })).toEqual([
    { kind: "file", name: "a.txt" },
  ]);
});

describe("the versions of an entry", () => {
  test("come from the vault, with what the target has and what the latest waits for", () => {
    const rows = versionRows(db, waiting, listed);
    expect(rows.map(({ version, keys, waitsFor }) => ({ version, keys, waitsFor }))).toEqual([
      { version: 3, keys: [], waitsFor: "AwaitingApproval" },
      { version: 2, keys: ["new"], waitsFor: undefined },
      { version: 1, keys: ["old"], waitsFor: undefined },
    ]);
    expect(rows[0]).toMatchObject({
      createdAt: "2026-11-21T00:00:03.000Z",
      createdBy: "user3@example.com",
    });
  });

  test("are those that the status shows if the vault was not asked", () => {
    const rows = versionRows(db, waiting, undefined);
    expect(rows.map(({ version }) => version)).toEqual([3, 2, 1]);
  });

  test("of another vault are not shown", () => {
    const items = [{ secretKey: "new", key: "db", otherVault: true, latest: 3 }];
    expect(versionRows(db, { items }, undefined)).toEqual([]);
  });
});

test.each([
  [DAY, undefined],
  [DAY + 1_000, 1],
  [DAY + 2_999, 2],
  [DAY + 9_000, 3],
])("the version at %d is %s", (time, version) => {
  expect(versionAt(listed, time)?.version).toBe(version);
});
