import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { syncItem, syncResource } from "../../../../test/lab/kube/sync-resource.ts";
import { vaultSecretKind } from "../../api/kinds.ts";
import type { ObjectMeta } from "../../kube/resource.ts";
import { readContent } from "../../sync/content.ts";
import { type SyncedKey, targetState } from "../../sync/target.ts";
import { renderTarget } from "./render-target.ts";
import { targetMetadata } from "./target-metadata.ts";

const resource = syncResource([syncItem("a")]);
const text = (value: string): Uint8Array => new TextEncoder().encode(value);

function rendering(
  changes: Partial<Parameters<typeof renderTarget>[0]> = {},
): Parameters<typeof renderTarget>[0] {
  const synced = new Map<string, SyncedKey>([["a", { version: 3, source: "s" }]]);
  return {
    resource,
    owner: vaultSecretKind,
    content: new Map([["a", text("x")]]),
    digest: "digest",
    synced,
    ...changes,
  };
}

const annotationsOf = (synced: ReadonlyMap<string, SyncedKey>) =>
  renderTarget(rendering({ synced }), undefined).metadata.annotations;

test("renderTarget returns a new Secret owned by the resource", () => {
  expect(JSON.parse(JSON.stringify(renderTarget(rendering(), undefined)))).toEqual({
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: "db",
      namespace: "shop",
      labels: { "app.kubernetes.io/managed-by": "vaultsync" },
      annotations: {
        "vaultsync.dev/owner": "VaultSecret/db",
        "vaultsync.dev/content": "digest",
        "vaultsync.dev/versions": '{"a":3}',
        "vaultsync.dev/sources": '{"a":"s"}',
      },
      ownerReferences: [
        {
          apiVersion: "vaultsync.dev/v1alpha1",
          kind: "VaultSecret",
          name: "db",
          uid: "uid-of-the-resource",
          controller: true,
          blockOwnerDeletion: true,
        },
      ],
    },
    type: "Opaque",
    data: { a: "eA==" },
  });
});

test.each([
  ["kubernetes.io/tls", "kubernetes.io/tls"],
  [undefined, "Opaque"],
])("renderTarget sets for the type %s of the spec the type %s", (type, expected) => {
  const target = { kind: "Secret", name: "web", type } as const;
  const object = renderTarget(rendering({ resource: { ...resource, target } }), undefined);
  expect(object["type"]).toBe(expected);
});

test("renderTarget sets no type for a ConfigMap", () => {
  const target = { kind: "ConfigMap", name: "web", type: undefined } as const;
  const object = renderTarget(rendering({ resource: syncResource([], { target }) }), undefined);
  expect(object).not.toHaveProperty("type");
  expect(object).toMatchObject({ kind: "ConfigMap", data: { a: "x" }, binaryData: {} });
});

describe("renderTarget annotations", () => {
  test("are parsed back unchanged for any valid keys", () => {
    const key = fc.oneof(
      fc.constantFrom("__proto__", "constructor", "toString"),
      fc.stringMatching(/^[-._a-zA-Z0-9]{1,20}$/),
    );
    // A vault with timestamps in seconds may return fractions of a millisecond.
    const createdAt = fc.option(
      fc.oneof(
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((timestamp) => timestamp + 0),
      ),
      { nil: undefined },
    );
    const synced = fc
      .uniqueArray(
        fc.tuple(
          key,
          fc.record({
            version: fc.integer({ min: 1 }),
            source: fc.stringMatching(/^[\w-]{16}$/),
            createdAt,
          }),
        ),
        {
          selector: ([name]) => name,
          minLength: 1,
          maxLength: 6,
        },
      )
      .map((keys) => new Map(keys));
    fc.assert(
      fc.property(synced, (keys) => {
        const content = new Map([...keys.keys()].map((name) => [name, text(name)]));
        const sent: ReturnType<typeof renderTarget> = JSON.parse(
          JSON.stringify(renderTarget(rendering({ synced: keys, content }), undefined)),
        );
        const state = targetState(
          resource,
          targetMetadata({
            ...sent,
            metadata: { ...sent.metadata, uid: "u", resourceVersion: "1" },
          }),
        );
        expect(state).toMatchObject({
          state: "owned",
          uid: "u",
          resourceVersion: "1",
          content: "digest",
          annotationsCorrupted: false,
        });
        expect(state.state === "owned" && state.synced).toEqual(keys);
        expect([...readContent("Secret", sent).keys()].sort()).toEqual([...keys.keys()].sort());
      }),
    );
  });

  test("do not depend on the order of the keys", () => {
    const one = new Map<string, SyncedKey>([
      ["b", { version: 1, source: "s" }],
      ["a", { version: 2, source: "t" }],
    ]);
    const other = new Map([...one].toReversed());
    expect(annotationsOf(one)).toEqual(annotationsOf(other));
  });
});

describe("renderTarget for an existing object", () => {
  const current: ObjectMeta = {
    name: "db",
    namespace: "shop",
    uid: "uid-of-the-target",
    resourceVersion: "41",
    creationTimestamp: "2026-11-01T00:00:00Z",
    labels: { team: "shop", "app.kubernetes.io/managed-by": "another" },
    annotations: { note: "by hand", "vaultsync.dev/content": "annotationsCorrupted" },
    finalizers: ["shop.example.com/finalizer"],
    managedFields: [{ manager: "kubectl" }],
    ownerReferences: [],
  };
  const ownersAfter = (ownerReferences: ObjectMeta["ownerReferences"]): (string | undefined)[] =>
    (
      renderTarget(rendering(), { ...current, ownerReferences: ownerReferences ?? [] }).metadata
        .ownerReferences ?? []
    ).map(({ uid }) => uid);

  test("keeps foreign labels, annotations and finalizers, and restores its own", () => {
    const { metadata } = renderTarget(rendering(), current);
    expect(metadata.labels).toEqual({ team: "shop", "app.kubernetes.io/managed-by": "vaultsync" });
    expect(metadata.annotations).toMatchObject({
      note: "by hand",
      "vaultsync.dev/content": "digest",
    });
    expect(metadata.finalizers).toEqual(["shop.example.com/finalizer"]);
  });

  test("sets uid and resourceVersion of the object that was read", () => {
    expect(renderTarget(rendering(), current).metadata).toMatchObject({
      uid: "uid-of-the-target",
      resourceVersion: "41",
    });
    expect(renderTarget(rendering(), undefined).metadata).not.toHaveProperty("resourceVersion");
  });

  test("omits fields that the API server manages", () => {
    expect(renderTarget(rendering(), current).metadata).not.toHaveProperty("managedFields");
  });

  test("keeps foreign owners except controllers and a deleted resource of the same name", () => {
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "x", uid: "theirs" };
    const former = {
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultSecret",
      name: "db",
      uid: "former",
    };
    const us = "uid-of-the-resource";
    expect(ownersAfter([owner])).toEqual(["theirs", us]);
    expect(ownersAfter([{ ...owner, controller: true }])).toEqual([us]);
    expect(ownersAfter([former])).toEqual([us]);
    expect(ownersAfter([{ ...former, uid: us }])).toEqual([us]);
    expect(ownersAfter([{ ...former, name: "other" }])).toEqual(["former", us]);
  });

  test("drops foreign keys", () => {
    const object = renderTarget(rendering(), current);
    expect(Object.keys(Object(object.data))).toEqual(["a"]);
  });
});
