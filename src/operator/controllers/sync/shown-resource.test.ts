import { expect, test } from "vitest";
import type { KubeObject } from "../../kube/resource.ts";
import { resourceReader } from "./shown-resource.ts";
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
