import { expect, test } from "vitest";
import { resourceState } from "./resource-state.ts";
import { resourceTable } from "./status-tables.ts";

const YEAR_MS = 365 * 24 * 3_600_000;
const now = Date.parse("2026-11-24T00:00:00Z");

test("a removal in a thousand years, the default of the vault, is shown as none", () => {
  const states = [1_000 * YEAR_MS, YEAR_MS].map((ms, index) =>
    resourceState({
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultSecret",
      metadata: { name: `db-${index}`, namespace: "shop" },
      status: {
        items: [
          { secretKey: "a", key: "a", version: 1, deleteAt: new Date(now + ms).toISOString() },
        ],
      },
    }),
  );
  const table = resourceTable(states, { now, allNamespaces: false, items: false });
  const removals = table
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ +/u).at(-1));
  expect(removals).toEqual(["REMOVAL", "-", "365d"]);
});
