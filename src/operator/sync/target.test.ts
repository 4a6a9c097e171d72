import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../test/support/kube/sync-resource.ts";
import { isOwnedBy, sourceId, type TargetMetadata, targetState } from "./target.ts";

const resource = syncResource([syncItem("a")]);

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
    owners: [{ uid: "uid-of-the-resource", name: "db", controller: true }],
    deleting: false,
    ...changes,
  };
}

describe("whose a target is", () => {
  test.each<[string, Partial<TargetMetadata>, boolean]>([
    ["our resource is its controller", { labels: {}, annotations: {} }, true],
    [
      "our resource is an owner, but not the controller",
      { labels: {}, owners: [{ uid: "uid-of-the-resource", name: "db", controller: false }] },
      false,
    ],
    [
      "an earlier life of our resource made it: label and owner's name say so",
      { owners: [{ uid: "former", name: "db", controller: true }] },
      true,
    ],
    [
      "another resource is its controller, whatever the label says",
      { owners: [{ uid: "another", name: "other", controller: true }] },
      false,
    ],
    ["label and owner's name say so, and nobody owns it", { owners: [] }, true],
    ["the owner's name says so, but the label is missing", { owners: [], labels: {} }, false],
    ["somebody else's label", { owners: [], labels: { "app.kubernetes.io/managed-by": "Helm" } }, false],
    ["our label, and no name of an owner", { owners: [], annotations: {} }, false],
    ["another resource of the same kind", { owners: [], annotations: { "vaultsync.dev/owner": "VaultSecret/other" } }, false],
    [
      "a resource of the same name and another kind",
      { owners: [], annotations: { "vaultsync.dev/owner": "VaultFile/db" } },
      false,
    ],
  ])("%s", (_, changes, isOurs) => {
    expect(isOwnedBy(resource, metadata(changes))).toBe(isOurs);
    expect(targetState(resource, metadata(changes)).state).toBe(isOurs ? "owned" : "foreign");
  });

  test("a foreign target's owner is named where it has a name", () => {
    const other = metadata({ owners: [], annotations: { "vaultsync.dev/owner": "VaultFile/web" } });
    expect(targetState(resource, other)).toEqual({ state: "foreign", owner: "VaultFile/web" });
    expect(targetState(resource, metadata({ owners: [], annotations: {} }))).toEqual({ state: "foreign", owner: undefined });
  });

  test("no object is no target", () => {
    expect(targetState(resource, undefined)).toEqual({ state: "absent" });
  });
});

function syncedBy(versions: string | undefined, sources: string | undefined) {
  const annotations: Record<string, string> = {};
  if (versions !== undefined) annotations["vaultsync.dev/versions"] = versions;
  if (sources !== undefined) annotations["vaultsync.dev/sources"] = sources;
  const state = targetState(resource, metadata({ annotations }));
  if (state.state !== "owned") throw new Error("not ours");
  return { synced: Object.fromEntries(state.synced), annotationsCorrupted: state.annotationsCorrupted };
}

/** What the key `a`, of version 3, is said to hold with this source. */
const syncedFrom = (source: string): unknown => syncedBy('{"a":3}', JSON.stringify({ a: source })).synced.a;

describe("what a target says it holds", () => {
  test("the state is that of the metadata", () => {
    expect(targetState(resource, metadata())).toMatchObject({
      uid: "uid-of-the-target",
      resourceVersion: "41",
      content: "digest",
    });
  });

  test("version and source of each key", () => {
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
    ["cut off", '{"a":3', '{"a":"x"}', []],
    ["null", "null", "null", []],
    ["a list", '["a"]', '["a"]', []],
    ["a text", '"abc"', '"abc"', []],
    ["a version missing", '{"a":3}', '{"a":"x","b":"y"}', ["a"]],
    ["a source missing", '{"a":3,"b":1}', '{"a":"x"}', ["a"]],
    ["different keys", '{"a":3}', '{"b":"x"}', []],
  ])("annotationsCorrupted: %s", (_, versions, sources, keys) => {
    const { synced, annotationsCorrupted } = syncedBy(versions, sources);
    expect(Object.keys(synced)).toEqual(keys);
    expect(annotationsCorrupted).toBe(true);
  });

  test("when the version was made, where the source says so in a way that can be read", () => {
    expect(syncedFrom("x@1763700000123.456")).toEqual({ version: 3, source: "x", createdAt: 1_763_700_000_123.456 });
    expect(syncedFrom("x")).toEqual({ version: 3, source: "x" });
    expect(syncedFrom("x@yesterday")).toEqual({ version: 3, source: "x" });
  });

  test.each(["0", "-1", "1.5", "1e400", "9007199254740993", '"3"', "null", "true", "[3]", "{}"])(
    "%s is no version",
    (version) => {
      expect(syncedBy(`{"a":3,"b":${version}}`, '{"a":"x","b":"y"}')).toMatchObject({
        synced: { a: { version: 3 } },
        annotationsCorrupted: true,
      });
    },
  );
});

test("the id of a source tells entries apart, and no two pairs of name and owner read the same", () => {
  const ids = [
    sourceId("db", "a@b"),
    sourceId("db", undefined),
    sourceId("db", ""),
    sourceId("db", "null"),
    sourceId("dba@b", undefined),
    sourceId('db","a@b', undefined),
    sourceId("d", "ba@b"),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(sourceId("db", "a@b")).toBe(sourceId("db", "a@b"));
  expect(ids[0]).toMatch(/^[\w-]{16}$/);
});
