import { describe, expect, test } from "vitest";
import { specTable } from "../../../test/lab/kube/spec-table.ts";
import type { KubeObject } from "../kube/resource.ts";
import { parseFile } from "./parse-file.ts";
import { parseSecret } from "./parse-secret.ts";

function object(kind: string, spec: unknown, annotations?: Record<string, string>): KubeObject {
  const metadata = {
    name: "db",
    namespace: "shop",
    uid: "u1",
    generation: 4,
    ...(annotations && { annotations }),
  };
  return { apiVersion: "vaultsync.dev/v1alpha1", kind, metadata, spec };
}
const vaultSecret = (spec: unknown, annotations?: Record<string, string>) =>
  parseSecret(object("VaultSecret", spec, annotations));
const vaultFile = (spec: unknown) => parseFile(object("VaultFile", spec));
const connectionRef = { name: "vault" };

test("parseResource applies the defaults of a VaultSecret", () => {
  expect(
    vaultSecret({ connectionRef, data: [{ secretKey: "a", remoteRef: { key: "shop-db" } }] }),
  ).toEqual({
    ok: true,
    resource: {
      kind: "VaultSecret",
      namespace: "shop",
      name: "db",
      uid: "u1",
      generation: 4,
      connection: { kind: "VaultConnection", name: "vault" },
      suspend: false,
      refreshIntervalMs: undefined,
      items: [{ id: "a", source: "shop-db", owner: undefined, version: "latest" }],
      finds: [],
      target: { kind: "Secret", name: "db", type: "Opaque" },
      policy: { creationPolicy: "Owner", labels: {}, annotations: {}, immutable: false },
      whenRemoved: "Delete",
      whenMissing: "Retain",
      forceSync: undefined,
      accepted: new Set(),
    },
  });
});

test("parseResource reads every field of a VaultSecret", () => {
  const remoteRef = { key: "shop-db", version: 3, owner: "dba@example.com" };
  const policy = {
    creationPolicy: "Orphan",
    labels: { team: "shop" },
    annotations: { note: "x" },
    immutable: true,
  };
  const target = {
    name: "other",
    type: "kubernetes.io/tls",
    ...policy,
    whenRemoved: "Retain",
    whenMissing: "Delete",
  };
  expect(
    vaultSecret({
      connectionRef,
      suspend: true,
      refreshInterval: "1h30m",
      data: [{ secretKey: "a", remoteRef }],
      target,
    }),
  ).toMatchObject({
    resource: {
      suspend: true,
      refreshIntervalMs: 5_400_000,
      items: [{ source: "shop-db", owner: "dba@example.com", version: 3 }],
      target: { kind: "Secret", name: "other", type: "kubernetes.io/tls" },
      policy,
      whenRemoved: "Retain",
      whenMissing: "Delete",
    },
  });
});

test("parseResource uses the filename as key of a VaultFile unless a key is set", () => {
  const files = [{ filename: "app.conf" }, { filename: "shop/x", key: "x", version: 2 }];
  expect(vaultFile({ connectionRef, files, target: { kind: "ConfigMap" } })).toMatchObject({
    ok: true,
    resource: {
      kind: "VaultFile",
      items: [
        { id: "app.conf", source: "app.conf", version: "latest" },
        { id: "x", source: "shop/x", version: 2 },
      ],
      target: { kind: "ConfigMap", name: "db", type: undefined },
      whenRemoved: "Delete",
      whenMissing: "Retain",
    },
  });
  expect(vaultFile({ connectionRef, files, target: { kind: "Secret" } })).toMatchObject({
    resource: { target: { type: "Opaque" } },
  });
});

const accepted = (text: string): string[] => [
  ...vaultSecret(
    { connectionRef, data: [{ secretKey: "a", remoteRef: { key: "k" } }] },
    { "vaultsync.dev/accept": text },
  ).resource.accepted,
];

describe("parseResource with the accept annotation", () => {
  test("splits the versions at commas and ignores spaces", () => {
    expect(accepted("db@3")).toEqual(["db@3"]);
    expect(accepted(" db@3 ,\tapi@1,")).toEqual(expect.arrayContaining(["db@3", "api@1"]));
    expect(accepted("db@12")).toEqual(["db@12"]);
    expect(accepted("db, api@, @1x")).toEqual([]);
  });

  test("accepts names with commas and at signs", () => {
    expect(accepted("a,b@2")).toContain("a,b@2");
    expect(accepted("other@7, a,b@x,@2,last@1")).toEqual(
      expect.arrayContaining(["other@7", "a,b@x,@2", "last@1"]),
    );
  });

  test("accepts names with up to 8 commas", () => {
    const longest = `${"a,".repeat(8)}b@2`;
    expect(accepted(longest)).toContain(longest);
    expect(accepted(`a,${longest}`)).not.toContain(`a,${longest}`);
  });

  test("takes time in proportion to its length", () => {
    expect(accepted(",a@1".repeat(20_000)).length).toBeLessThan(100);
  });
});

const cluster = {
  connectionRef: { kind: "ClusterVaultConnection", name: "corporate" },
  namespaceSelector: { matchLabels: { team: "shop" } },
};

test("parseResource reads a ClusterVaultSecret as a VaultSecret of one namespace", () => {
  const data = [{ secretKey: "a", remoteRef: { key: "shop-db" } }];
  const parsed = vaultSecret({ connectionRef: cluster.connectionRef, data });
  expect(parseSecret(object("ClusterVaultSecret", { ...cluster, data }))).toEqual({
    ...parsed,
    resource: { ...parsed.resource, kind: "ClusterVaultSecret" },
  });
});

test("parseResource reads a ClusterVaultFile as a VaultFile of one namespace", () => {
  const spec = { files: [{ filename: "web.conf" }], target: { kind: "ConfigMap" } };
  const parsed = vaultFile({ connectionRef: cluster.connectionRef, ...spec });
  expect(parseFile(object("ClusterVaultFile", { ...cluster, ...spec }))).toEqual({
    ...parsed,
    resource: { ...parsed.resource, kind: "ClusterVaultFile" },
  });
});

describe("parseResource with an invalid spec", () => {
  const parsers = new Map([
    ["VaultSecret", parseSecret],
    ["VaultFile", parseFile],
    ["ClusterVaultSecret", parseSecret],
    ["ClusterVaultFile", parseFile],
  ]);
  const wrong = specTable.flatMap((row) => {
    const parse = parsers.get(row.kind.kind);
    return row.rejected === undefined || parse === undefined ? [] : [{ ...row, parse }];
  });

  test.each(wrong)(
    "returns InvalidSpec without items: $what",
    ({ parse, kind, spec, rejected }) => {
      const parsed = parse(object(kind.kind, spec));
      expect(parsed).toMatchObject({
        ok: false,
        resource: { kind: kind.kind, uid: "u1", generation: 4, items: [], whenRemoved: "Retain" },
        readyCondition: { ready: false, reason: "InvalidSpec" },
      });
      expect(parsed.ok ? "" : parsed.readyCondition.message).toContain(rejected?.message);
    },
  );

  test.each([undefined, null, "text", 7, [], {}])("does not throw: %j", (spec) => {
    expect(vaultSecret(spec).ok).toBe(false);
    expect(vaultFile(spec).ok).toBe(false);
  });
});
