import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../test/lab/kube/sync-resource.ts";
import { ADOPT_ANNOTATION, MANAGED_BY, MANAGED_BY_LABEL, OWNER_ANNOTATION } from "../api/names.ts";
import { formatClaims, mergeAnnotation } from "./merged-claims.ts";
import type { SyncResource, TargetPolicy } from "./sync-resource.ts";
import { type TargetMetadata, targetState } from "./target.ts";

const NAMED = { [OWNER_ANNOTATION]: "VaultSecret/db" };
const LABELED = { [MANAGED_BY_LABEL]: MANAGED_BY };
const controller = { uid: "uid-of-the-resource", name: "db", controller: true };
const otherOwner = { uid: "uid-of-another", name: "", controller: false };

const withPolicy = (creationPolicy: TargetPolicy["creationPolicy"]): SyncResource =>
  syncResource([syncItem("a")], {
    policy: { creationPolicy, labels: {}, annotations: {}, immutable: false },
  });

/** Returns the metadata of an object of another owner, with `changes`. */
const object = (changes: Partial<TargetMetadata> = {}): TargetMetadata => ({
  uid: "uid-of-the-target",
  resourceVersion: "41",
  labels: {},
  annotations: {},
  owners: [],
  deleting: false,
  ...changes,
});

describe("an object that its owner hands over", () => {
  const adopted = { [ADOPT_ANNOTATION]: "VaultSecret/db" };

  test.each<[string, string, Partial<TargetMetadata>]>([
    ["to the resource", "owned", { annotations: adopted }],
    [
      "and that another object owns without being its controller",
      "owned",
      { annotations: adopted, owners: [otherOwner] },
    ],
    [
      "and that has another controller",
      "foreign",
      { annotations: adopted, owners: [otherOwner, { ...controller, uid: "uid-of-another" }] },
    ],
    [
      "to another resource",
      "foreign",
      { annotations: { [ADOPT_ANNOTATION]: "VaultSecret/other" } },
    ],
  ])("%s is %s", (_, expected, changes) => {
    expect(targetState(withPolicy("Owner"), object(changes)).state).toBe(expected);
  });

  test("lacks its metadata until its annotations name the resource as owner only", () => {
    const owners = [controller];
    const other = { [OWNER_ANNOTATION]: "VaultSecret/other" };
    expect(
      targetState(withPolicy("Owner"), object({ owners, labels: LABELED, annotations: other })),
    ).toMatchObject({
      hasMetadata: false,
    });
    const before = object({ owners, labels: LABELED, annotations: { ...NAMED, ...adopted } });
    expect(targetState(withPolicy("Owner"), before)).toMatchObject({ hasMetadata: false });
    expect(
      targetState(withPolicy("Owner"), object({ owners, labels: LABELED, annotations: NAMED })),
    ).toMatchObject({
      hasMetadata: true,
    });
  });
});

test.each<[string, TargetMetadata["owners"], boolean]>([
  ["nothing", [], true],
  ["another object, which is not its controller", [otherOwner], true],
  ["the resource, which is its controller", [controller], false],
  ["the resource, which is not its controller", [{ ...controller, controller: false }], false],
  ["another object and the resource", [otherOwner, controller], false],
])(
  "under the policy Orphan a target has the right owners if it is owned by %s",
  (_, owners, hasMetadata) => {
    const target = object({ owners, labels: LABELED, annotations: NAMED });
    expect(targetState(withPolicy("Orphan"), target)).toMatchObject({
      state: "owned",
      hasMetadata,
    });
  },
);

describe("under the policy Merge", () => {
  const resource = withPolicy("Merge");
  const claims = formatClaims({
    "vaultsync.dev/content": "digest",
    "vaultsync.dev/versions": '{"a":3}',
    "vaultsync.dev/sources": '{"a":"x"}',
  });

  test("the resource owns the keys of an object of others that its annotation claims", () => {
    const merged = object({
      labels: { "vaultsync.dev/merged": "true" },
      annotations: { [mergeAnnotation(resource)]: claims },
    });
    expect(targetState(resource, merged)).toEqual({
      state: "owned",
      uid: "uid-of-the-target",
      resourceVersion: "41",
      content: "digest",
      hasMetadata: true,
      synced: new Map([["a", { version: 3, source: "x" }]]),
      annotationsCorrupted: false,
    });
  });

  test("the resource owns no key of an object that it has not merged into", () => {
    expect(targetState(resource, object())).toMatchObject({
      state: "owned",
      content: undefined,
      synced: new Map(),
    });
  });

  test("lacks metadata without the label by which a watch shows the object", () => {
    const annotations = { [mergeAnnotation(resource)]: claims };
    expect(targetState(resource, object({ annotations }))).toMatchObject({
      hasMetadata: false,
      content: "digest",
    });
  });

  test("a target of another resource is foreign, by its marks or its controller", () => {
    const annotations = { [OWNER_ANNOTATION]: "VaultSecret/other" };
    const other = {
      uid: "uid-2",
      group: "vaultsync.dev",
      kind: "VaultSecret",
      name: "other",
      controller: true,
    };
    for (const of of [{ labels: LABELED, annotations }, { owners: [other] }]) {
      expect(targetState(resource, object(of))).toEqual({
        state: "foreign",
        owner: "VaultSecret/other",
      });
    }
    expect(targetState(resource, object({ labels: LABELED })).state).toBe("owned");
    expect(targetState(resource, object({ annotations })).state).toBe("owned");
    const group = "external-secrets.io";
    expect(targetState(resource, object({ owners: [{ ...other, group }] })).state).toBe("owned");
  });
});
