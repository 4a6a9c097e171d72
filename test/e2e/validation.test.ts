import { expect, test } from "vitest";
import { vaultFile, vaultSecret } from "../lab/real/resources.ts";
import { World } from "../lab/real/world.ts";

/**
 * Messages of `kubectl apply` for an invalid spec: the field and the expected value. No operator
 * runs.
 */
const world = await World.ofFile();

const spec = (more: object): object => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultSecret",
  metadata: { name: "wrong" },
  spec: {
    connectionRef: { name: "vault" },
    data: [{ secretKey: "a", remoteRef: { key: "a" } }],
    ...more,
  },
});

const connection = (more: object): object => ({
  apiVersion: "vaultsync.dev/v1alpha1",
  kind: "VaultConnection",
  metadata: { name: "wrong" },
  spec: {
    url: "https://vault.example.com",
    email: "ops@example.com",
    auth: { passwordSecretRef: { name: "login" } },
    ...more,
  },
});

const cases: [what: string, object: object, message: RegExp][] = [
  [
    "a spec without data",
    spec({ data: undefined }),
    /spec\.data or spec\.dataFrom must have at least one entry, for example/,
  ],
  [
    "an empty data list",
    spec({ data: [] }),
    /spec\.data.*must have at least one entry, for example/,
  ],
  [
    "version 0",
    vaultSecret("wrong", { a: { key: "a", version: 0 } }),
    /version.*must be latest, previous or a number of at least 1/,
  ],
  [
    "a version that is neither a number nor latest",
    vaultSecret("wrong", { a: { key: "a", version: "newest" } }),
    /version.*must be latest, previous or a number of at least 1/,
  ],
  [
    "a version in quotes",
    vaultSecret("wrong", { a: { key: "a", version: "1" } }),
    /version.*a number of at least 1 without quotes, for example version: 3/,
  ],
  [
    "a target type that makes Kubernetes issue tokens",
    vaultSecret("wrong", { a: "a" }, { type: "kubernetes.io/service-account-token" }),
    /spec\.target\.type.*must be the type of a Secret/,
  ],
  [
    "a malformed type",
    vaultSecret("wrong", { a: "a" }, { type: "Sealed Secret" }),
    /spec\.target\.type.*must be the type of a Secret/,
  ],
  [
    "the target type of credentials",
    vaultSecret("wrong", { a: "a" }, { type: "vaultsync.dev/credentials" }),
    /spec\.target\.type.*must be the type of a Secret/,
  ],
  [
    "a list of connections",
    spec({ connectionRef: [{ name: "a" }, { name: "b" }] }),
    /unknown field "spec\.connectionRef\[0\]\.name"/,
  ],
  [
    "two connections in one name",
    spec({ connectionRef: { name: "a,b" } }),
    /must be the name of one VaultConnection/,
  ],
  [
    "an unknown field for a second connection",
    spec({ connectionRefs: [{ name: "b" }] }),
    /unknown field "spec\.connectionRefs"/,
  ],
  [
    "a duplicate secretKey",
    spec({ data: ["a", "b"].map((key) => ({ secretKey: "a", remoteRef: { key } })) }),
    /Duplicate value/,
  ],
  [
    "a secretKey that is not a valid key",
    vaultSecret("wrong", { "a/b": "a" }),
    /must consist of letters, digits/,
  ],
  [
    "a filename that is not a valid key",
    vaultFile("wrong", [{ filename: "a/b.conf" }], { kind: "ConfigMap" }),
    /set key, for example key: app\.conf/,
  ],
  [
    "two files with the same key",
    vaultFile("wrong", [{ filename: "a" }, { filename: "b", key: "a" }], { kind: "ConfigMap" }),
    /set another key for one of them/,
  ],
  [
    "a missing target kind",
    vaultFile("wrong", [{ filename: "a" }], {}),
    /spec\.target\.kind: Required value/,
  ],
  [
    "a URL with /v1",
    connection({ url: "https://vault.example.com/v1" }),
    /must be the base URL of the vault without \/v1/,
  ],
  [
    "a URL with a password",
    connection({ url: "https://me:pw@vault.example.com" }),
    /must be the base URL of the vault/,
  ],
  [
    "an interval of one second",
    connection({ refreshInterval: "1s" }),
    /must be a duration of at least 5s/,
  ],
  [
    "an interval that is not a duration",
    connection({ refreshInterval: "often" }),
    /must be a duration of at least 5s/,
  ],
  [
    "an invalid email address",
    connection({ email: "ops" }),
    /must be the email address of the vault account/,
  ],
];

test.each(cases)("kubectl apply rejects %s", async (_what, object, message) => {
  const { code, stderr } = await world.tryApply(object);
  expect(code).not.toBe(0);
  expect(stderr.replaceAll(/\s+/g, " ")).toMatch(message);
});

test("kubectl apply accepts the valid specs that the rejected ones are derived from", async () => {
  expect(
    (
      await world.tryApply(
        spec({}),
        connection({}),
        vaultSecret("right", { a: { key: "a", version: 3 } }),
      )
    ).code,
  ).toBe(0);
});
