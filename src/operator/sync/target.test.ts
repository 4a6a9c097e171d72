import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import {
  connectionId,
  isOwnedBy,
  sourceId,
  type TargetMetadata,
  targetState,
  vaultId,
  withoutClaims,
} from "./target.ts";

const resource = syncResource([syncItem("a")]);

type Owner = TargetMetadata["owners"][number];
const controller = (changes: Partial<Owner>): Owner => ({
  uid: "former",
  name: "db",
  kind: "VaultSecret",
  group: "vaultsync.dev",
  controller: true,
  ...changes,
});

function metadata(changes: Partial<TargetMetadata> = {}): TargetMetadata {
  return {
    uid: "uid-of-the-target",
    resourceVersion: "41",
    labels: { "app.kubernetes.io/managed-by": "vaultsync" },
    annotations: {
      "vaultsync.dev/owner": "VaultSecret/db",
      "vaultsync.dev/content": "digest",
      "vaultsync.dev/versions": '{"a":3}',
      "vaultsync.dev/sources": '{"a":"source"}',
    },
    owners: [controller({ uid: "uid-of-the-resource" })],
    deleting: false,
    ...changes,
  };
}

describe("isOwnedBy", () => {
  test.each<[string, Partial<TargetMetadata>, boolean]>([
    ["accepts an object whose controller is the resource", { labels: {}, annotations: {} }, true],
    [
      "rejects an object that the resource owns without being its controller",
      { labels: {}, owners: [{ uid: "uid-of-the-resource", name: "db", controller: false }] },
      false,
    ],
    [
      "accepts an object of a deleted resource of the same name, by label and owner annotation",
      { owners: [controller({})] },
      true,
    ],
    [
      "rejects an object with another controller, whatever its label",
      { owners: [controller({ name: "other" })] },
      false,
    ],
    [
      "rejects an object with a controller of another kind",
      { owners: [controller({ kind: "VaultFile" })] },
      false,
    ],
    [
      "rejects an object with a controller of the same name and another group",
      { owners: [controller({ kind: "ExternalSecret", group: "external-secrets.io" })] },
      false,
    ],
    [
      "rejects an object with a controller of another group alone",
      { owners: [controller({ group: "example.com" })] },
      false,
    ],
    ["accepts an object without owners, by label and owner annotation", { owners: [] }, true],
    ["rejects an object without the label", { owners: [], labels: {} }, false],
    [
      "rejects an object with the label of another manager",
      { owners: [], labels: { "app.kubernetes.io/managed-by": "Helm" } },
      false,
    ],
    ["rejects an object without the owner annotation", { owners: [], annotations: {} }, false],
    [
      "rejects an object of another resource of the same kind",
      { owners: [], annotations: { "vaultsync.dev/owner": "VaultSecret/other" } },
      false,
    ],
    [
      "rejects an object of a resource of the same name and another kind",
      { owners: [], annotations: { "vaultsync.dev/owner": "VaultFile/db" } },
      false,
    ],
  ])("%s", (_, changes, isOurs) => {
    expect(isOwnedBy(resource, metadata(changes))).toBe(isOurs);
    expect(targetState(resource, metadata(changes)).state).toBe(isOurs ? "owned" : "foreign");
  });

  test("targetState returns the owner of a foreign target if it is known", () => {
    const other = metadata({ owners: [], annotations: { "vaultsync.dev/owner": "VaultFile/web" } });
    expect(targetState(resource, other)).toEqual({ state: "foreign", owner: "VaultFile/web" });
    expect(targetState(resource, metadata({ owners: [], annotations: {} }))).toEqual({
      state: "foreign",
      owner: undefined,
    });
  });

  test("targetState reports whether the controller is this very resource", () => {
    expect(targetState(resource, metadata({}))).toMatchObject({ hasMetadata: true });
    expect(targetState(resource, metadata({ owners: [] }))).toMatchObject({
      state: "owned",
      hasMetadata: false,
    });
    const former = controller({});
    expect(targetState(resource, metadata({ owners: [former] }))).toMatchObject({
      state: "owned",
      hasMetadata: false,
    });
    const owner = { uid: "uid-of-the-resource", name: "", controller: false };
    expect(targetState(resource, metadata({ owners: [owner] }))).toMatchObject({
      state: "owned",
      hasMetadata: false,
    });
  });

  test("targetState returns absent without an object", () => {
    expect(targetState(resource, undefined)).toEqual({ state: "absent" });
  });
});

function syncedBy(versions: string | undefined, sources: string | undefined) {
  const annotations: Record<string, string> = {};
  if (versions !== undefined) annotations["vaultsync.dev/versions"] = versions;
  if (sources !== undefined) annotations["vaultsync.dev/sources"] = sources;
  const state = targetState(resource, metadata({ annotations }));
  if (state.state !== "owned") throw new Error("not ours");
  return {
    synced: Object.fromEntries(state.synced),
    annotationsCorrupted: state.annotationsCorrupted,
  };
}

/** Returns the synced key `a` of version 3 with this source. */
const syncedFrom = (source: string): unknown =>
  syncedBy('{"a":3}', JSON.stringify({ a: source })).synced.a;

describe("targetState for an owned object", () => {
  test("returns uid, resourceVersion and digest of the metadata", () => {
    expect(targetState(resource, metadata())).toMatchObject({
      uid: "uid-of-the-target",
      resourceVersion: "41",
      content: "digest",
    });
  });

  test("returns version and source of each key", () => {
    expect(syncedBy('{"a":3,"b":1}', '{"a":"x","b":"y"}')).toEqual({
      synced: { a: { version: 3, source: "x" }, b: { version: 1, source: "y" } },
      annotationsCorrupted: false,
    });
  });

  test.each<[string, string | undefined, string | undefined, string[]]>([
    ["no versions", undefined, '{"a":"x"}', []],
    ["no sources", '{"a":3}', undefined, []],
    ["neither", undefined, undefined, []],
    ["both empty", "{}", "{}", []],
    ["no JSON", "a=3", '{"a":"x"}', []],
    ["null", "null", "null", []],
    ["a list", '["a"]', '["a"]', []],
    ["a version missing", '{"a":3}', '{"a":"x","b":"y"}', ["a"]],
    ["a source missing", '{"a":3,"b":1}', '{"a":"x"}', ["a"]],
    ["different keys", '{"a":3}', '{"b":"x"}', []],
    ["a source that is no text", '{"a":3,"b":1}', '{"a":"x","b":7}', ["a"]],
  ])("reports corrupted annotations: %s", (_, versions, sources, keys) => {
    const { synced, annotationsCorrupted } = syncedBy(versions, sources);
    expect(Object.keys(synced)).toEqual(keys);
    expect(annotationsCorrupted).toBe(true);
  });

  test("returns the creation time of a version if the annotation has a valid one", () => {
    expect(syncedFrom("x@1763700000123.456")).toEqual({
      version: 3,
      source: "x",
      createdAt: 1_763_700_000_123.456,
    });
    expect(syncedFrom("x")).toEqual({ version: 3, source: "x" });
    expect(syncedFrom("x@yesterday")).toEqual({ version: 3, source: "x" });
  });

  test.each(["0", "-1", "1.5", "1e400", "9007199254740993", '"3"', "null"])(
    "rejects the version %s",
    (version) => {
      expect(syncedBy(`{"a":3,"b":${version}}`, '{"a":"x","b":"y"}')).toMatchObject({
        synced: { a: { version: 3 } },
        annotationsCorrupted: true,
      });
    },
  );
});

test("sourceId differs for every vault, name and owner", () => {
  const ids = [
    sourceId("v", "db", "a@b"),
    sourceId("v", "db", undefined),
    sourceId("v", "db", ""),
    sourceId("v", "db", "null"),
    sourceId("v", "dba@b", undefined),
    sourceId("v", 'db","a@b', undefined),
    sourceId("v", "d", "ba@b"),
    sourceId("w", "db", "a@b"),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(sourceId("v", "db", "a@b")).toBe(sourceId("v", "db", "a@b"));
  expect(ids[0]).toMatch(/^v\.[\w-]{16}$/);
});

test("vaultId differs for every base URL and account, however these are written", () => {
  const id = vaultId("https://vault.example.com", "ops@example.com");
  const others = [
    vaultId("https://vault.example.com", "dba@example.com"),
    vaultId("https://other.example.com", "ops@example.com"),
    vaultId("http://vault.example.com", "ops@example.com"),
    vaultId("https://vault.example.com:8443", "ops@example.com"),
    vaultId("https://vault.example.com/team-a", "ops@example.com"),
    vaultId("https://vault.example.com/team-b", "ops@example.com"),
    vaultId("https://vault.example.com/team-a/b", "ops@example.com"),
    vaultId("https://vault.example.com/team-ab", "ops@example.com"),
  ];
  expect(new Set([id, ...others]).size).toBe(9);
  expect(vaultId("https://vault.example.com/team-a//", "ops@example.com")).toBe(others[4]);
  expect(vaultId("https://Vault.example.com:443/", "Ops@example.com")).toBe(id);
});

test("connectionId differs for every connection, vault and scope", () => {
  const ids = [
    connectionId("c", "v", undefined),
    connectionId("d", "v", undefined),
    connectionId("c", "w", undefined),
    connectionId("c", "v", { shared: true }),
    connectionId("c", "v", { shared: false }),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(connectionId("c", "v", null)).toBe(ids[0]);
});

describe("withoutClaims", () => {
  test("replaces the claimed versions by the reported ones, and drops keys that were not reported", () => {
    const annotations = {
      ...metadata().annotations,
      "vaultsync.dev/versions": '{"a":9,"b":9}',
      "vaultsync.dev/sources": '{"a":"x","b":"y"}',
    };
    const state = targetState(resource, metadata({ annotations }));
    expect(withoutClaims(state, (key) => (key === "a" ? 3 : undefined))).toEqual({
      ...state,
      synced: new Map([["a", { version: 3, source: "x" }]]),
      annotationsCorrupted: true,
    });
  });

  test.each([{ state: "absent" }, { state: "foreign", owner: undefined }] as const)(
    "leaves a target $state",
    (state) => {
      expect(withoutClaims(state, () => 3)).toBe(state);
    },
  );
});
