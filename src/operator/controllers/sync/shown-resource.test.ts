import { expect, test } from "vitest";
import type { KubeObject } from "../../kube/resource.ts";
import { resourceReader } from "./shown-resource.ts";
import { VERSIONS_ANNOTATION, SOURCES_ANNOTATION } from "../../api/names.ts";
import { sourceId, type TargetMetadata } from "../../sync/target.ts";
import { secretSource } from "./secret-source.ts";
import type { SyncedKind } from "./sync-reconciler.ts";

const resource = (generation: number): KubeObject => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultSecret",
  metadata: { namespace: "shop", name: "db", generation, uid: "u", resourceVersion: "1" },
  spec: {
    connectionRef: { name: "vault" },
    data: [{ secretKey: "password", remoteRef: { key: "password" } }],
  },
});

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
    { VaultSecret: kind, VaultFile: kind },
    { metadata: () => undefined },
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

/** Returns the metadata of a target that claims bytes of this secret under the key password. */
function target(source: string | undefined): TargetMetadata | undefined {
  if (source === undefined) return undefined;
  const annotations = {
    [VERSIONS_ANNOTATION]: JSON.stringify({ password: 1 }),
    [SOURCES_ANNOTATION]: JSON.stringify({ password: sourceId("vault", source, undefined) }),
  };
  const owners = [{ uid: "u", name: "db", controller: true }];
  return { uid: "t", resourceVersion: "1", labels: {}, annotations, owners, deleting: false };
}

test("what a resource shows follows its target, also if the resource did not change", () => {
  const kind = {
    resources: new Map([["shop/db", resource(1)]]),
    source: secretSource(),
  } as unknown as SyncedKind;
  let metadata = target(undefined);
  const read = resourceReader({ VaultSecret: kind, VaultFile: kind }, { metadata: () => metadata });
  const claimed = () => {
    const shown = read("VaultSecret/shop/db");
    const ids = ["password", "other"].filter((name) =>
      shown?.claims([`.${sourceId("vault", name, undefined).split(".")[1]}`]),
    );
    return [shown?.state.state, [...(shown?.claimed ?? [])], ids];
  };
  expect(claimed()).toEqual(["absent", [], []]);
  metadata = target("password");
  expect(claimed()).toEqual(["owned", ["password"], ["password"]]);
  metadata = target("other");
  expect(claimed()).toEqual(["owned", ["password"], ["other"]]);
  metadata = target(undefined);
  expect(claimed()).toEqual(["absent", [], []]);
});
