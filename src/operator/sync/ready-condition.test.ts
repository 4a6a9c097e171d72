import { describe, expect, test } from "vitest";
import { candidate, syncItem } from "../../../test/lab/kube/sync-resource.ts";
import type { Resolution } from "./resolution.ts";
import { readyConditionOf } from "./ready-condition.ts";

const DEADLINE = Date.UTC(2026, 10, 20, 8, 30);

const db = syncItem("db");

function problem(state: Resolution["state"], name = "db"): Resolution {
  const item = syncItem(name);
  switch (state) {
    case "found":
      return { state, item, candidate: candidate(3), version: 3 };
    case "removed":
      return { state, item, deleteAt: DEADLINE, deletion: "due" };
    case "missing":
    case "unmatched":
      return { state, item };
    case "untrusted":
      return { state, item, owner: "eve@example.com" };
    case "unusable":
      return { state, item, why: "dataFrom[0] finds it: set rewrite" };
    case "ambiguous":
      return { state, item, owners: ["a@example.com", "b@example.com"] };
    case "other-owner":
      return { state, item, candidate: candidate(3, { owner: "b@example.com" }) };
    case "no-version":
      return { state, item, candidate: candidate(3), version: 8 };
    case "regressed":
      return { state, item, candidate: candidate(3), syncedVersion: 5 };
    case "withheld":
      return { state, item, candidate: candidate(3), gate: { reason: "Frozen" }, hasBytes: true };
  }
}

test("readyConditionOf returns Ready if every item was found", () => {
  expect(readyConditionOf([problem("found"), problem("withheld", "api")])).toEqual({
    ready: true,
    reason: "Synced",
    message: "the target is in sync with the vault",
  });
});

test.each<[Resolution["state"], string, string]>([
  [
    "unmatched",
    "SourceMissing",
    "db finds no entry in the vault's list: check find, the shares and the scope of the connection; existing content is kept",
  ],
  [
    "ambiguous",
    "AmbiguousName",
    "db is shared by several owners (a@example.com, b@example.com): set remoteRef.owner to one of them",
  ],
  [
    "other-owner",
    "AmbiguousName",
    "db now belongs to b@example.com, not to the owner of the stored version: set remoteRef.owner to follow it",
  ],
  [
    "no-version",
    "VersionNotFound",
    "db has no version 8, the latest is 3: set version to an existing version or to latest",
  ],
  [
    "regressed",
    "VersionRegressed",
    "db went back from version 5 to 3; the lower version is not written. To accept version 3, set the annotation vaultsync.dev/accept=db@3",
  ],
  [
    "missing",
    "SourceMissing",
    "db is not in the vault's list: check its name, its shares and the scope of the connection; existing content is kept",
  ],
  [
    "untrusted",
    "SourceMissing",
    "db is shared by eve@example.com, whom neither remoteRef.owner nor spec.trustedOwners of the connection names: to use it, set one of them; existing content is kept",
  ],
  ["unusable", "InvalidKey", "dataFrom[0] finds it: set rewrite; it is skipped"],
  [
    "removed",
    "SourceRemoved",
    "db was removed by the vault at its delete_time (2026-11-20T08:30:00.000Z)",
  ],
])("readyConditionOf reports %s as %s with a remedy", (state, reason, message) => {
  expect(readyConditionOf([problem("found", "api"), problem(state)])).toEqual({
    ready: false,
    reason,
    message,
  });
});

test("readyConditionOf reports entries whose owner the vault does not list", () => {
  const unnamed = { item: db, owner: undefined };
  expect(readyConditionOf([{ state: "untrusted", ...unnamed }]).message).toContain(
    "db is shared by an owner whom the vault does not name, and used only with spec.receive: Anyone",
  );
  const found = syncItem("db", {
    foundBy: { id: "dataFrom[0]", pattern: "", metadata: {}, rewrite: [], digest: "" },
  });
  expect(
    readyConditionOf([{ state: "untrusted", item: found, owner: "eve@example.com" }]).message,
  ).toContain(
    "whom spec.trustedOwners of the connection does not name, as dataFrom[0] requires: add that owner there",
  );
  const extracted = syncItem("db", { isExtracted: true });
  expect(
    readyConditionOf([{ state: "untrusted", item: extracted, owner: "eve@example.com" }]).message,
  ).toContain("neither extract.owner");
  const other = candidate(3, { owner: undefined });
  expect(
    readyConditionOf([{ state: "other-owner", item: db, candidate: other }]).message,
  ).toContain("db now belongs to another owner, not to");
});

test.each<[string, object, string, string]>([
  [
    "extracts",
    { isExtracted: true },
    "set extract.owner to one of them",
    "set extract.owner to follow it",
  ],
  [
    "finds",
    { foundBy: { id: "dataFrom[0]", pattern: "", metadata: {}, rewrite: [], digest: "" } },
    "exclude it from dataFrom[0], and name it and its owner in spec.data",
    "exclude it from dataFrom[0], and name it and its owner in spec.data",
  ],
])("readyConditionOf says how to choose the owner of what a rule %s", (_, changes, one, next) => {
  const item = { ...db, ...changes };
  expect(readyConditionOf([{ ...problem("ambiguous"), item }]).message).toContain(`: ${one}`);
  expect(readyConditionOf([{ ...problem("other-owner"), item }]).message).toContain(`: ${next}`);
});

test("readyConditionOf reports an optional key of another vault until it is removed", () => {
  const item = syncItem("db", { isOptional: true });
  const awaited = { state: "missing", item, deletion: "awaited" } as const;
  expect(readyConditionOf([awaited]).ready).toBe(true);
  expect(readyConditionOf([{ ...awaited, isOfOtherVault: true }]).message).toContain(
    "its key is removed when three lists over two refresh intervals have confirmed that (optional: true)",
  );
});

const held =
  "its key is kept, because too many names disappeared together: see the condition RemovalsHeld of the connection";

test.each<[Resolution, string]>([
  [
    { state: "missing", item: db, deletion: "due" },
    "db is not in the vault's list; its key is removed (whenMissing: Delete)",
  ],
  [
    { state: "missing", item: db, deletion: "awaited", isAbsent: true },
    "db is not in the vault's list; its key is removed (whenMissing: Delete)",
  ],
  [
    { state: "missing", item: db, deletion: "awaited" },
    "db is not in the vault's list; its key is removed when three lists over two refresh intervals have confirmed that (whenMissing: Delete)",
  ],
  [{ state: "missing", item: db, deletion: "held" }, `db is not in the vault's list; ${held}`],
  [
    { state: "missing", item: db, deletion: "held", isAbsent: true },
    "db is not in the vault's list; its key is removed (whenMissing: Delete)",
  ],
  [
    { state: "removed", item: db, deleteAt: DEADLINE, deletion: "due" },
    "db was removed by the vault at its delete_time (2026-11-20T08:30:00.000Z)",
  ],
  [
    { state: "removed", item: db, deleteAt: DEADLINE },
    "db was removed by the vault at its delete_time (2026-11-20T08:30:00.000Z); its value is still in the target (whenRemoved: Retain)",
  ],
  [
    { state: "removed", item: db, deleteAt: DEADLINE, isAbsent: true },
    "db was removed by the vault at its delete_time (2026-11-20T08:30:00.000Z)",
  ],
  [
    { state: "removed", item: db, deleteAt: DEADLINE, deletion: "held" },
    `db was removed by the vault at its delete_time (2026-11-20T08:30:00.000Z); ${held}`,
  ],
])(
  "readyConditionOf says what happens to the key of an entry that is gone: %#",
  (resolution, message) => {
    expect(readyConditionOf([resolution]).message).toBe(message);
  },
);

test.each<[Resolution, string | undefined, string]>([
  [
    { state: "missing", item: db, list: "the list of ops@example.com", near: "dbs" },
    undefined,
    "db is not in the list of ops@example.com: check its name (did you mean dbs?), its shares and the scope of the connection; existing content is kept",
  ],
  [
    problem("missing"),
    "the Secret app",
    "db is not in the vault's list: check its name, its shares and the scope of the connection; the Secret app is not created without it",
  ],
  // Found by the simulation: a target that does not exist was said to keep a key.
  [
    { state: "missing", item: db, deletion: "held", isAbsent: true },
    "the Secret app",
    "db is not in the vault's list; the Secret app is not created without it, because too many names disappeared together: see the condition RemovalsHeld of the connection",
  ],
  [
    problem("unmatched"),
    "the ConfigMap app",
    "db finds no entry in the vault's list: check find, the shares and the scope of the connection; the ConfigMap app is not created without it",
  ],
])(
  "readyConditionOf says whether the target exists, and a near name: %#",
  (resolution, absent, message) => {
    expect(readyConditionOf([resolution], absent).message).toBe(message);
  },
);

test("readyConditionOf separates the items that it names", () => {
  const second: Resolution = { state: "missing", item: syncItem("api"), deletion: "due" };
  expect(readyConditionOf([{ state: "missing", item: db, deletion: "due" }, second]).message).toBe(
    "db is not in the vault's list; its key is removed (whenMissing: Delete); api is not in the vault's list; its key is removed (whenMissing: Delete)",
  );
});

/** Returns the message about this number of missing entries. */
const missing = (count: number): string =>
  readyConditionOf(Array.from({ length: count }, (_, at) => problem("missing", `name-${at}`)))
    .message;

describe("readyConditionOf with several problems", () => {
  const gravestFirst = ["ambiguous", "no-version", "regressed", "missing", "removed"] as const;

  test("takes reason and message from the most severe kind, whatever its position", () => {
    gravestFirst.forEach((state, at) => {
      const less = gravestFirst.slice(at + 1).filter((other) => other !== "removed");
      const lesser = less.map((other) => problem(other, `lesser-${other}`));
      const readyCondition = readyConditionOf([...lesser, problem(state, "worst")]);
      expect(readyCondition.reason).toBe(readyConditionOf([problem(state)]).reason);
      expect(readyCondition.message).toContain("worst");
      expect(readyCondition.message).not.toContain("lesser");
    });
  });

  test("names what the vault has removed too, because it is not in the target any more", () => {
    const { reason, message } = readyConditionOf([
      problem("removed", "gone"),
      problem("missing", "worst"),
    ]);
    expect(reason).toBe("SourceMissing");
    expect(message).toMatch(/^worst is not in .*; gone was removed by the vault/u);
  });

  test("names up to three items and counts the rest", () => {
    expect(missing(3).match(/name-\d/g)).toEqual(["name-0", "name-1", "name-2"]);
    expect(missing(3)).not.toContain("more");
    expect(missing(12).match(/name-\d/g)).toEqual(["name-0", "name-1", "name-2"]);
    expect(missing(12)).toMatch(/; and 9 more$/);
  });

  test("does not reorder the resolutions", () => {
    const resolutions = [problem("removed", "z"), problem("found", "a"), problem("missing", "m")];
    const order = [...resolutions];
    readyConditionOf(resolutions);
    expect(resolutions).toEqual(order);
  });
});

test("readyConditionOf accepts a deadline outside the range of RFC 3339", () => {
  expect(
    readyConditionOf([{ state: "removed", item: syncItem("db"), deleteAt: -1e300 }]).message,
  ).toContain("long ago");
});
