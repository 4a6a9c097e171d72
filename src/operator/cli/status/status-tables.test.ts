import { expect, test } from "vitest";
import { resourceState } from "./resource-state.ts";
import { resourceTable } from "./status-tables.ts";

const YEAR_MS = 365 * 24 * 3_600_000;
const now = Date.parse("2026-11-24T00:00:00Z");

/** Returns one of the last cells of each row, for resources of one item with these times. */
function cells(index: number, times: readonly Readonly<Record<string, number>>[]): unknown[] {
  const states = times.map((fields) => {
    const dates = Object.entries(fields).map(([name, ms]) => [name, new Date(now + ms)] as const);
    const item = { secretKey: "a", key: "a", version: 1, ...Object.fromEntries(dates) };
    return resourceState({
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultSecret",
      metadata: { name: "db", namespace: "shop" },
      status: JSON.parse(JSON.stringify({ items: [item] })) as object,
    });
  });
  return resourceTable(states, { now, allNamespaces: false, items: false })
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ +/u).at(index));
}

test("a removal in a thousand years, the default of the vault, is shown as none", () => {
  const removals = cells(-1, [{ deleteAt: 1_000 * YEAR_MS }, { deleteAt: YEAR_MS }]);
  expect(removals).toEqual(["REMOVAL", "-", "365d"]);
});

test("the expiry is the earlier one of the version and its certificate", () => {
  const [day, week] = [YEAR_MS / 365, (YEAR_MS / 365) * 7];
  const expiries = cells(-2, [
    { expiresAt: week, notAfter: day },
    { expiresAt: day, notAfter: week },
    { notAfter: week },
  ]);
  expect(expiries).toEqual(["EXPIRES", "24h", "24h", "7d"]);
});

test("keys that a long status omits have a row of their number", () => {
  const state = resourceState({
    apiVersion: "vaultsync.dev/v1alpha1",
    kind: "VaultSecret",
    metadata: { name: "db", namespace: "shop" },
    status: { items: [{ secretKey: "a", key: "db", version: 1 }], itemsOmitted: 36 },
  });
  const table = resourceTable([state], { now, allNamespaces: false, items: true });
  const keys = table.split("\n").map((line) => line.split(/ {2,}/u)[3]);
  expect(keys).toEqual(["KEY", "a", "36 not listed", undefined]);
});
