import { expect, test } from "vitest";
import type { KubeObject } from "../../kube/resource.ts";
import { resourceReader } from "./shown-resource.ts";
import { VERSIONS_ANNOTATION, SOURCES_ANNOTATION } from "../../api/names.ts";
import { sourceId, type TargetMetadata } from "../../sync/target.ts";
import { secretSource } from "./secret-source.ts";
import type { SyncedKind } from "./source-kind.ts";
import type { FormerTarget } from "./target-records.ts";
import { forEachKind } from "../../sync/sync-key.ts";

const resource = (generation: number): KubeObject => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultSecret",
  metadata: { namespace: "shop", name: "db", generation, uid: "u", resourceVersion: "1" },
  spec: {
    connectionRef: { name: "vault" },
    data: [{ secretKey: "password", remoteRef: { key: "password" } }],
  },
});

const NO_FORMERS = { formers: () => [] };

test("a resource is parsed once while its names are looked up, and again when it changes", () => {
  const objects = new Map([["shop/db", resource(1)]]);
  const parsed: unknown[] = [];
  const source = secretSource();
  const kind = {
    resources: objects,
    source: {
      ...source,
      parse: (object: Parameters<typeof source.parse>[0]) => {
        parsed.push(object);
        return source.parse(object);
      },
    },
  } as unknown as SyncedKind;
  const read = resourceReader(
    forEachKind(() => kind),
    { lastMetadata: () => undefined, ...NO_FORMERS },
  );
  const first = read("VaultSecret/shop/db");
  expect(read("VaultSecret/shop/db")).toBe(first);
  expect(parsed).toHaveLength(1);
  objects.set("shop/db", resource(2));
  expect(read("VaultSecret/shop/db")?.resource.generation).toBe(2);
  expect(parsed).toHaveLength(2);
  objects.delete("shop/db");
  expect(read("VaultSecret/shop/db")).toBe(undefined);
});

/** Returns the metadata of a target that claims bytes of this secret under a key. */
function target(source: string | undefined, key = "password"): TargetMetadata | undefined {
  if (source === undefined) return undefined;
  const annotations = {
    [VERSIONS_ANNOTATION]: JSON.stringify({ [key]: 1 }),
    [SOURCES_ANNOTATION]: JSON.stringify({ [key]: sourceId("vault", source, undefined) }),
  };
  const owners = [{ uid: "u", name: "db", controller: true }];
  return { uid: "t", resourceVersion: "1", labels: {}, annotations, owners, deleting: false };
}

/** Returns the kind with one resource. */
const kindOf = (object: KubeObject): SyncedKind =>
  ({ resources: new Map([["shop/db", object]]), source: secretSource() }) as unknown as SyncedKind;

/** Returns the names that a resource shows as claimed, and the entries without an owner that it claims. */
function claimedBy(read: ReturnType<typeof resourceReader>): unknown[] {
  const shown = read("VaultSecret/shop/db");
  const ids = ["password", "other"].filter((name) =>
    shown?.claims([sourceId("", name, undefined)]),
  );
  return [[...(shown?.claimed ?? [])], ids];
}

test("what a resource shows follows its target, also if the resource did not change", () => {
  const kind = kindOf(resource(1));
  let metadata = target(undefined);
  const read = resourceReader(
    forEachKind(() => kind),
    { lastMetadata: () => metadata, ...NO_FORMERS },
  );
  expect(claimedBy(read)).toEqual([[], []]);
  metadata = target("password");
  expect(claimedBy(read)).toEqual([["password"], ["password"]]);
  metadata = target("other");
  expect(claimedBy(read)).toEqual([["password"], ["other"]]);
  metadata = target(undefined);
  expect(claimedBy(read)).toEqual([[], []]);
});

test("a former target claims what it has, also under a key that the spec does not have", () => {
  const kind = kindOf(resource(1));
  const metadata = target("password", "p")!;
  let formers: FormerTarget[] = [];
  const read = resourceReader(
    forEachKind(() => kind),
    { lastMetadata: () => undefined, formers: () => formers },
  );
  const parsed = read("VaultSecret/shop/db")!.resource;
  expect(claimedBy(read)).toEqual([[], []]);
  formers = [{ former: { ...parsed, target: { ...parsed.target, name: "former" } }, metadata }];
  expect(claimedBy(read)).toEqual([["password"], ["password"]]);
  formers = [];
  expect(claimedBy(read)).toEqual([[], []]);
});
