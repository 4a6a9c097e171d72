import { describe, expect, test } from "vitest";
import { vaultSecretSpec } from "../api/vault-secret.ts";
import { candidate, syncItem } from "../../../test/lab/kube/sync-resource.ts";
import type { Gate, Resolution } from "./resolution.ts";
import { type KeptBytes, resolvePrevious } from "./resolve-previous.ts";
import type { SyncItem } from "./sync-resource.ts";

const latest = syncItem("db", { id: "password" });
const item = syncItem("db", { id: "former", version: "previous" });
const optional = { ...item, isOptional: true };
const FROZEN: Gate = { reason: "Frozen", until: "until later" };

const found = (of: SyncItem, version: number, more: object = {}): Resolution => ({
  state: "found",
  item: of,
  candidate: candidate(9),
  version,
  ...more,
});

/** Resolves the previous version next to an item that is served like this. */
function previous(
  leader: Resolution,
  own = item,
  more: object = {},
  kept: KeptBytes = "of-source",
): Resolution {
  const [, resolved] = resolvePrevious([leader, found(own, 9, more)], () => kept);
  if (resolved === undefined) throw new Error("nothing was resolved");
  return resolved;
}

test.each([
  [undefined, undefined, true],
  ["dba@example.com", "dba@example.com", true],
  [undefined, "dba@example.com", false],
])("an entry of %s is next to a previous version of %s: %s", (owner, other, isValid) => {
  const data = [
    { secretKey: "new", remoteRef: { key: "db", owner } },
    { secretKey: "old", remoteRef: { key: "db", owner: other, version: "previous" } },
  ];
  const spec = { connectionRef: { name: "vault" }, data };
  expect(vaultSecretSpec.safeParse(spec).success).toBe(isValid);
});

describe("the previous version", () => {
  test("is the one below what the other item of its entry has", () => {
    expect(previous(found(latest, 9))).toEqual(found(item, 8));
  });

  test("is below the version that a gate keeps, and waits for nothing itself", () => {
    expect(previous(found(latest, 5, { gate: FROZEN }))).toEqual(found(item, 4));
    const held: Gate = { reason: "Held", version: 3 };
    expect(previous(found(latest, 3, { gate: held }))).toEqual(found(item, 2));
  });

  test("is the one that a hold names for it", () => {
    const named = { gate: { reason: "Held", version: 7 } };
    expect(previous(found(latest, 9), item, named)).toEqual(found(item, 9, named));
  });

  test("is of the entry that the other item is read from", () => {
    const shared = candidate(6, { owner: "dba@example.com", own: false });
    const leader: Resolution = { state: "found", item: latest, candidate: shared, version: 6 };
    expect(previous(leader)).toMatchObject({ candidate: shared, version: 5 });
  });

  test("is the newest listed one that the vault has below", () => {
    const sizes = new Map([2, 4, 9].map((version) => [version, 1]));
    const listed = { candidate: candidate(9, { sizes }) };
    expect(previous(found(latest, 9, listed))).toMatchObject({ version: 4 });
    expect(previous(found(latest, 2, listed))).toMatchObject({ state: "no-version" });
  });

  test("is missing before the first version: without its key if it is optional", () => {
    expect(previous(found(latest, 1))).toMatchObject({ state: "no-version", version: 1 });
    const missing = { state: "missing", item: optional, deletion: "due" };
    const absent = { ...missing, isBelowFirst: true };
    expect(previous(found(latest, 1), optional)).toEqual({ ...absent, isAbsent: false });
    expect(previous(found(latest, 1), optional, {}, "none")).toEqual({ ...absent, isAbsent: true });
  });

  test("stays with the bytes of an entry that was recreated while a gate holds it", () => {
    const recreated = found(latest, 5, { isRecreated: true, gate: FROZEN });
    const own = { isRecreated: true, version: 4 };
    expect(previous(recreated, item, own)).toEqual(found(item, 9, own));
    expect(previous(recreated, item, own, "none")).toMatchObject({ state: "no-version" });
  });

  test.each<[string, Resolution, object]>([
    [
      "regressed",
      { state: "regressed", item: latest, candidate: candidate(2), syncedVersion: 5 },
      { syncedVersion: 5 },
    ],
    [
      "withheld",
      { state: "withheld", item: latest, candidate: candidate(2), gate: FROZEN, hasBytes: true },
      { hasBytes: false },
    ],
    ["ambiguous", { state: "ambiguous", item: latest, owners: ["a", "b"] }, { owners: ["a", "b"] }],
  ])("is not served while the other item is %s", (state, leader, more) => {
    expect(previous(leader, optional, {}, "none")).toMatchObject({
      state,
      item: optional,
      ...more,
    });
  });

  test("is missing where the target has bytes of an earlier spec, and the other item is withheld", () => {
    const withheld = { state: "withheld", candidate: candidate(2), gate: FROZEN } as const;
    const leader: Resolution = { ...withheld, item: latest, hasBytes: true };
    expect(previous(leader)).toEqual({ ...withheld, item, hasBytes: true });
    expect(previous(leader, item, {}, "of-other")).toMatchObject({ state: "no-version" });
    expect(previous(leader, optional, {}, "of-other")).toMatchObject({ state: "withheld" });
  });

  test("keeps what is known of its bytes when the entry is gone", () => {
    const gone: Resolution = { state: "missing", item, deletion: "due", isAbsent: false };
    const leader: Resolution = { state: "missing", item: latest, deletion: "due", isAbsent: true };
    expect(resolvePrevious([leader, gone], () => "of-source")).toEqual([leader, gone]);
  });

  test("does not follow what a rule found, another entry, or a pinned item", () => {
    const find = { id: "dataFrom[0]", pattern: "", metadata: {}, rewrite: [], digest: "rule" };
    for (const other of [
      syncItem("db", { foundBy: find }),
      syncItem("web"),
      syncItem("db", { version: 3 }),
      syncItem("db", { owner: "dba@example.com" }),
    ])
      expect(previous(found(other, 5))).toEqual(found(item, 9));
  });
});
