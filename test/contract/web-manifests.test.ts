import { describe, expect, test } from "vitest";
import { parseAllDocuments, parse } from "yaml";
import { isObjectKey } from "../../src/operator/api/fields.ts";
import { connectionSpec } from "../../src/operator/api/vault-connection.ts";
import { vaultFileSpec } from "../../src/operator/api/vault-file.ts";
import { vaultSecretSpec } from "../../src/operator/api/vault-secret.ts";
import {
  connectionCommand,
  connectionManifest,
  isObjectName,
  isVaultUrl,
  objectKeyOf,
  objectNameOf,
  vaultFileManifest,
  vaultSecretManifest,
  type SyncedSecret,
} from "../../src/vault/web/pages/kubernetes/manifest.ts";
import { jsonProperties } from "../../src/vault/web/text/value-entries.ts";

const placement = { name: "shop-db", namespace: "shop", connection: "vault" };
const owner = "ann@example.com";

const names = [
  "shop-db",
  "prod/checkout/db",
  "yes",
  "12",
  "1e3",
  "- a: b #c",
  '"quoted" \\ \u{1F600}',
  "..",
  "\u2028\uFEFF",
  "ÄÖÜ/",
  "x".repeat(256),
  "trailing ",
];

const secret = (key_name: string, properties: readonly string[] = []): SyncedSecret => ({
  key_name,
  owner,
  version: "latest",
  properties,
});

describe("manifest of secrets", () => {
  test.each(names)("for %j is valid for the operator and names the secret", (name) => {
    const manifest = parse(vaultSecretManifest(placement, [secret(name)]));
    const { data = [] } = vaultSecretSpec.parse(manifest.spec);
    expect(data.map(({ remoteRef }) => remoteRef)).toEqual([{ key: name, owner }]);
    expect(manifest).toMatchObject({
      apiVersion: "vaultsync.dev/v1alpha1",
      kind: "VaultSecret",
      metadata: { name: "shop-db", namespace: "shop" },
    });
  });

  test("has a key for each chosen property, and the version that was chosen", () => {
    const properties = jsonProperties('{"user": "u", "a/b~c": {"user": 1, "list": [1]}, "e": {}}');
    expect(properties).toEqual(["/user", "/a~1b~0c/user", "/a~1b~0c/list", "/e"]);
    const chosen = { ...secret("shop-db", properties), version: 3 };
    const { spec } = parse(vaultSecretManifest(placement, [chosen]));
    expect(vaultSecretSpec.parse(spec).data).toEqual(
      [
        ["user", "/user"],
        ["user-2", "/a~1b~0c/user"],
        ["list", "/a~1b~0c/list"],
        ["e", "/e"],
      ].map(([secretKey, property]) => ({
        secretKey,
        remoteRef: { key: "shop-db", owner, version: 3, property },
      })),
    );
  });

  test("has distinct keys for many secrets of the same last name", () => {
    const secrets = Array.from({ length: 256 }, (_, at) => secret(`folder-${at}/password`));
    const { spec } = parse(vaultSecretManifest(placement, secrets));
    expect(vaultSecretSpec.parse(spec).data).toHaveLength(256);
  });
});

test.each(names)("manifest of the file %j is valid for the operator", (filename) => {
  for (const kind of ["ConfigMap", "Secret"] as const) {
    const { spec } = parse(vaultFileManifest(placement, filename, { version: 2, kind }));
    const { files = [], target } = vaultFileSpec.parse(spec);
    expect(files).toMatchObject([{ filename, version: 2 }]);
    expect(target).toEqual({ kind });
  }
});

test.each(names)("proposed names for %j are accepted", (name) => {
  expect(isObjectName(objectNameOf(name))).toBe(true);
  expect(isObjectKey(objectKeyOf(name))).toBe(true);
});

test("manifest of a connection is valid for the operator, and the command contains it", () => {
  const connection = {
    name: "vault",
    namespace: "shop",
    url: "https://v.example.com",
    email: owner,
  };
  const manifest = connectionManifest(connection);
  expect(connectionSpec.parse(parse(manifest).spec)).toEqual({
    url: "https://v.example.com",
    email: owner,
    auth: { tokenSecretRef: { name: "vault-credentials" } },
  });
  const command = connectionCommand(connection);
  const [, heredoc = ""] = command.split("<<'EOF'\n");
  expect(parseAllDocuments(heredoc.replace(/EOF\n$/u, "")).map((each) => each.toJS())).toEqual([
    parse(manifest),
  ]);
});

test.each([
  "https://vault.example.com",
  "http://vault:8200/base/",
  "https://vault.example.com/v1",
  "https://u@vault.example.com",
  "https://vault.example.com/?a",
  "vault.example.com",
  "",
])("the URL %j is accepted like the operator accepts it", (url) => {
  const auth = { tokenSecretRef: { name: "vault-credentials" } };
  expect(isVaultUrl(url)).toBe(connectionSpec.safeParse({ url, email: owner, auth }).success);
});

test.each(["", "plain", "[1]", '"text"', "{}", "null", "3"])(
  "the value %j has no properties",
  (value) => {
    expect(jsonProperties(value)).toEqual([]);
  },
);
